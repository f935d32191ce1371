#include "pippin/model_output/read_syntax.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/exception.h"
#include "pippin/chat/json.h"
#include "pippin/io/json.h"
#include "pippin/model_output/json_scanner.h"
#include "pippin/model_output/known_syntaxes.h"
#include "pippin/model_output/marks.h"
#include "pippin/model_output/reasoning.h"

namespace pippin::model_output {
namespace {

using chat::Dict;
using chat::Value;
using Kind = CallPiece::Kind;

constexpr std::string_view kQuestion = "Question7331", kAnswer = "Answer7331";
constexpr std::string_view kKeys[] = {"alpha7331", "beta7331"};
constexpr std::string_view kText = "Value7331";
constexpr std::string_view kNumber = "7331";

// Some templates accept only ids of nine letters and digits.
struct Probe {
  std::string_view name, id;
};
constexpr std::array<Probe, 2> kProbes = {
    {{"first_probe", "a1B2c3D4e"}, {"second_probe", "f5G6h7I8j"}}};

Value probe_tools() {
  std::vector<Value> tools;
  for (const Probe& probe : kProbes) {
    const auto property = [](const char* type) {
      return Dict{{"type", type}, {"description", "A value."}};
    };
    tools.emplace_back(Dict{
        {"type", "function"},
        {"function", Dict{{"name", std::string(probe.name)},
                          {"description", "A probe."},
                          {"parameters",
                           Dict{{"type", "object"},
                                {"properties", Dict{{std::string(kKeys[0]), property("string")},
                                                    {std::string(kKeys[1]), property("integer")}}},
                                {"required", std::vector<Value>{std::string(kKeys[0])}}}}}}});
  }
  return Value(std::move(tools));
}

// Returns an answer with the first `count` probe calls.
Value probe_answer(size_t count, bool as_text) {
  const Dict arguments{{std::string(kKeys[0]), std::string(kText)}, {std::string(kKeys[1]), 7331}};
  std::vector<Value> calls;
  for (size_t i = 0; i < count; ++i) {
    calls.emplace_back(
        Dict{{"id", std::string(kProbes[i].id)},
             {"type", "function"},
             {"function", Dict{{"name", std::string(kProbes[i].name)},
                               {"arguments", as_text ? Value(chat::to_json(Value(arguments)))
                                                     : Value(arguments)}}}});
  }
  return Dict{{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
}

// Python's tojson escapes quotes for HTML, transformers' does not; some templates use Python's by
// mistake.
std::string unescaped(std::string text) {
  for (size_t at = 0; (at = text.find("&#34;", at)) != std::string::npos; ++at) {
    text.replace(at, 5, "\"");
  }
  return text;
}

// Returns nothing if the template rejects the conversation.
std::optional<std::string> render(const ChatTemplate& chat, std::vector<Value> messages,
                                  PromptEnd end, bool with_tools) {
  messages.insert(messages.begin(), Dict{{"role", "user"}, {"content", std::string(kQuestion)}});
  Dict context{{"messages", std::move(messages)}};
  if (with_tools) add_tools(chat, probe_tools(), context);
  for (const bool names_tokens : {false, true}) {
    // A template without its tokenizer lacks the special tokens that it may use.
    if (names_tokens) {
      context.set("bos_token", "<s>");
      context.set("eos_token", "</s>");
    }
    try {
      return unescaped(chat.render(context, end));
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

// --- parts of texts ---

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

// Returns the common prefix, shortened so that it does not cut a mark <...>.
std::string_view shared_begin(std::string_view a, std::string_view b) {
  const std::string_view shared = a.substr(0, common_prefix(a, b));
  const size_t open = shared.rfind('<');
  const bool is_cut = open != std::string_view::npos &&
                      shared.find('>', open) == std::string_view::npos && shared != a;
  return is_cut ? shared.substr(0, open) : shared;
}

// The same for the common suffix.
std::string_view shared_end(std::string_view a, std::string_view b) {
  size_t size = 0;
  while (size < std::min(a.size(), b.size()) && a[a.size() - 1 - size] == b[b.size() - 1 - size]) {
    ++size;
  }
  const std::string_view shared = a.substr(a.size() - size);
  const size_t close = shared.find('>');
  const bool is_cut = close != std::string_view::npos && shared.find('<') > close;
  return is_cut ? shared.substr(close + 1) : shared;
}

struct Span {
  size_t begin, end;
};

// Returns the JSON object that begins at `begin`.
std::optional<Span> object_at(std::string_view text, size_t begin) {
  JsonScanner scanner;
  std::string json;
  size_t end = begin;
  if (scanner.push(text, end, json) != JsonScanner::Status::Done) return std::nullopt;
  return Span{begin, end};
}

// Returns the outermost object around text[at] that begins at or after `from`.
std::optional<Span> object_around(std::string_view text, size_t from, size_t at) {
  for (size_t open = text.find('{', from); open < at; open = text.find('{', open + 1)) {
    const auto span = object_at(text, open);
    if (span && span->end > at) return span;
  }
  return std::nullopt;
}

// --- one call ---

// The positions of a call's parts in a text.
struct CallPlaces {
  size_t name;
  size_t keys[2], values[2];
};

std::optional<CallPlaces> places_of(std::string_view text, const Probe& probe, size_t from) {
  CallPlaces places{};
  places.name = text.find(probe.name, from);
  if (places.name == std::string_view::npos) return std::nullopt;
  size_t at = places.name;
  for (size_t i = 0; i < 2; ++i) {
    places.keys[i] = text.find(kKeys[i], at);
    if (places.keys[i] == std::string_view::npos) return std::nullopt;
    places.values[i] = text.find(i == 0 ? kText : kNumber, places.keys[i] + kKeys[i].size());
    if (places.values[i] == std::string_view::npos) return std::nullopt;
    at = places.values[i];
  }
  return places;
}

void add_text(std::vector<CallPiece>& pieces, std::string_view text) {
  if (!text.empty()) pieces.push_back({Kind::Text, std::string(text)});
}

// Adds `text`, with the id as a separate piece.
void add_with_id(std::vector<CallPiece>& pieces, std::string_view text, std::string_view id) {
  const size_t at = text.find(id);
  if (at == std::string_view::npos) return add_text(pieces, text);
  add_text(pieces, text.substr(0, at));
  pieces.push_back({Kind::Id});
  add_text(pieces, text.substr(at + id.size()));
}

// Determines the meaning of the object's keys.
bool read_keys(const Json& object, const Probe& probe, CallSyntax& syntax) {
  for (const auto& [key, value] : object.members()) {
    if (value.is_string() && value.as_string() == probe.name) syntax.name_key = key;
    if (value.is_string() && value.as_string() == probe.id) syntax.id_key = key;
    if (!value.is_object()) continue;
    if (value.contains(kKeys[0])) {
      syntax.arguments_key = key == probe.name ? "" : std::string(key);
    } else if (read_keys(value, probe, syntax)) {
      syntax.wrapper_key = key;
    }
  }
  return !syntax.name_key.empty() || (object.size() > 0 && object.contains(probe.name));
}

struct Call {
  Span span;  // of the pieces
  std::vector<CallPiece> pieces;
};

// {"name": F, "arguments": {...}}
std::optional<Call> read_object(std::string_view text, size_t from, const Probe& probe,
                                CallSyntax& syntax) {
  const auto places = places_of(text, probe, from);
  if (!places) return std::nullopt;
  const auto object = object_around(text, from, places->name);
  if (!object || object->end <= places->values[1]) return std::nullopt;
  const std::string_view whole = text.substr(object->begin, object->end - object->begin);
  const auto arguments = object_at(text, text.rfind('{', places->keys[0]));
  if (!arguments || arguments->begin < places->name ||
      !read_keys(Json::parse(whole, "call"), probe, syntax))
    return std::nullopt;
  Call call{*object, {}};
  const size_t behind_name = places->name + probe.name.size();
  add_with_id(call.pieces, text.substr(object->begin, places->name - object->begin), probe.id);
  call.pieces.push_back({Kind::Name});
  add_with_id(call.pieces, text.substr(behind_name, arguments->begin - behind_name), probe.id);
  call.pieces.push_back({Kind::Arguments});
  add_with_id(call.pieces, text.substr(arguments->end, object->end - arguments->end), probe.id);
  return call;
}

// F, then the arguments as JSON or between marks.
std::optional<Call> read_function(std::string_view text, size_t from, const Probe& probe,
                                  CallSyntax& syntax) {
  const auto places = places_of(text, probe, from);
  if (!places) return std::nullopt;
  Call call;
  call.span.begin = places->name;
  call.pieces.push_back({Kind::Name});
  const size_t behind_name = places->name + probe.name.size();
  const std::string_view before_key = text.substr(behind_name, places->keys[0] - behind_name);
  if (const auto object = object_around(text, behind_name, places->keys[0]);
      object && object->end > places->values[1]) {
    add_with_id(call.pieces, text.substr(behind_name, object->begin - behind_name), probe.id);
    call.pieces.push_back({Kind::Arguments});
    call.span.end = object->end;
    return call;
  }
  const auto between = [&](size_t begin, std::string_view what, size_t end) {
    return text.substr(begin + what.size(), end - begin - what.size());
  };
  const std::string_view between_arguments = between(places->values[0], kText, places->keys[1]);
  const std::string_view key_end = between(places->keys[0], kKeys[0], places->values[0]);
  if (mark_of(before_key) == "(" && mark_of(key_end).starts_with("=")) {
    syntax.arguments = CallSyntax::Arguments::Python;
    call.pieces.push_back({Kind::Arguments});
    const size_t close = text.find(')', places->values[1]);
    if (close == std::string_view::npos) return std::nullopt;
    call.span.end = close + 1;
    return call;
  }
  syntax.arguments = CallSyntax::Arguments::Tagged;
  syntax.key_begin = shared_end(before_key, between_arguments);
  if (mark_of(syntax.key_begin).empty() || mark_of(key_end).empty()) return std::nullopt;
  syntax.key_end = key_end;
  syntax.key_end_other = between(places->keys[1], kKeys[1], places->values[1]);
  if (syntax.key_end_other == syntax.key_end) syntax.key_end_other.clear();
  syntax.value_end =
      between_arguments.substr(0, between_arguments.size() - syntax.key_begin.size());
  add_with_id(call.pieces, before_key.substr(0, before_key.size() - syntax.key_begin.size()),
              probe.id);
  call.pieces.push_back({Kind::Arguments});
  call.span.end = places->values[1] + kNumber.size() + syntax.value_end.size();
  if (mark_of(syntax.value_end).empty() ||
      text.substr(places->values[1] + kNumber.size()).substr(0, syntax.value_end.size()) !=
          syntax.value_end) {
    return std::nullopt;
  }
  return call;
}

// --- the answer ---

struct Rendered {
  std::string one, two;  // with one and two calls; `two` may be empty
  size_t begin;          // of the answer, in both
  std::string turn_end;  // the text after an answer without calls

  // The text after the last call, up to the end of the turn.
  std::string_view tail(std::string_view text, size_t call_end) const {
    const std::string_view behind = text.substr(call_end);
    const std::string_view mark = mark_of(turn_end);
    return mark.empty() ? behind : behind.substr(0, behind.find(mark));
  }
};

// Finds a number that increases from call to call: ":0" and ":1".
void find_number(std::vector<CallPiece>& first, const std::vector<CallPiece>& second) {
  if (first.size() != second.size()) return;
  for (size_t i = 0; i < first.size(); ++i) {
    const std::string a = first[i].text, b = second[i].text;
    const size_t at = common_prefix(a, b);
    if (a.size() != b.size() || at == a.size() || a[at] != '0' || b[at] != '1') continue;
    if (a.substr(at + 1) != b.substr(at + 1)) continue;
    std::vector<CallPiece> parts;
    add_text(parts, std::string_view(a).substr(0, at));
    parts.push_back({Kind::Number});
    add_text(parts, std::string_view(a).substr(at + 1));
    first.erase(first.begin() + static_cast<ptrdiff_t>(i));
    first.insert(first.begin() + static_cast<ptrdiff_t>(i), parts.begin(), parts.end());
    return;
  }
}

// Finds the text around the calls.
void read_frame(const Rendered& answer, const Call& call, const std::optional<Call>& first,
                const std::optional<Call>& second, CallSyntax& syntax) {
  const std::string_view one = answer.one, two = answer.two;
  const std::string_view before =
      behind_thoughts(one.substr(answer.begin, call.span.begin - answer.begin));
  if (!first || !second) {
    syntax.has_one_call = true;
    syntax.call_begin = before;
    syntax.call_end = answer.tail(one, call.span.end);
    return;
  }
  const std::string_view after = answer.tail(two, second->span.end);
  const std::string_view gap = two.substr(first->span.end, second->span.begin - first->span.end);
  std::string_view begin = shared_end(before, gap);
  if (mark_of(begin).empty()) begin = {};
  std::string_view end = shared_begin(gap.substr(0, gap.size() - begin.size()), after);
  if (mark_of(end).empty()) end = {};
  syntax.call_begin = begin;
  syntax.call_end = end;
  syntax.separator = gap.substr(end.size(), gap.size() - end.size() - begin.size());
  syntax.section_begin = before.substr(0, before.size() - begin.size());
  syntax.section_end = after.substr(end.size());
}

std::optional<CallSyntax> read_with(const ChatTemplate& chat, bool with_tools, bool as_text) {
  const auto told = [&](Value message) {
    return render(chat, {std::move(message)}, PromptEnd::Conversation, with_tools);
  };
  const auto plain = told(Dict{{"role", "assistant"}, {"content", std::string(kAnswer)}});
  auto one = told(probe_answer(1, as_text));
  if (!plain || !one) return std::nullopt;
  const size_t said = plain->rfind(kAnswer);
  const size_t asked = one->rfind(kQuestion);
  if (said == std::string::npos || asked == std::string::npos) return std::nullopt;
  const std::string_view plain_text = *plain;
  Rendered answer{std::move(*one), {}, 0, {}};
  // Answers begin where the renderings with and without calls diverge.
  answer.begin = shared_begin(plain_text.substr(0, said), answer.one).size();
  if (answer.begin < asked) return std::nullopt;
  const std::string_view behind = plain_text.substr(said + kAnswer.size());
  answer.turn_end = shared_end(behind, answer.one);
  CallSyntax syntax;
  syntax.is_written = true;
  syntax.arguments_are_text = as_text;
  syntax.content_begin = mark_of(plain_text.substr(answer.begin, said - answer.begin));
  if (!syntax.content_begin.empty()) {
    syntax.content_end = mark_of(behind.substr(0, behind.size() - answer.turn_end.size()));
  }
  const auto read = [&](std::string_view text, size_t from, const Probe& probe, CallSyntax& into) {
    into.shape = CallSyntax::Shape::Object;
    auto call = read_object(text, from, probe, into);
    if (call) return call;
    into.shape = CallSyntax::Shape::Function;
    return read_function(text, from, probe, into);
  };
  auto call = read(answer.one, answer.begin, kProbes[0], syntax);
  if (!call) return std::nullopt;
  std::optional<Call> first, second;
  if (auto two = told(probe_answer(2, as_text))) {
    answer.two = std::move(*two);
    CallSyntax other = syntax;
    first = read(answer.two, answer.begin, kProbes[0], other);
    if (first) second = read(answer.two, first->span.end, kProbes[1], other);
  }
  read_frame(answer, *call, first, second, syntax);
  syntax.pieces = std::move(call->pieces);
  if (second) find_number(syntax.pieces, second->pieces);
  constexpr std::string_view kTag = "<|python_tag|>";
  if (mark_of(syntax.section_begin + syntax.call_begin).empty() &&
      chat.source().find(kTag) != std::string::npos) {
    syntax.loose_begin = kTag;
  }
  for (const CallPiece& piece : syntax.pieces) {
    // The name occurs twice: not one of these syntaxes.
    if (piece.text.find(kProbes[0].name) != std::string::npos) return std::nullopt;
  }
  return syntax;
}

}  // namespace

void add_tools(const ChatTemplate& chat, const Value& tools, Dict& context) {
  context.set("tools", tools);
  if (chat.source().find("functools[") == std::string::npos) return;
  // FireFunction uses these names.
  context.set("functions", chat::to_json(tools, {.indent = "  "}));
  if (context.find("datetime") == nullptr) context.set("datetime", "unknown");
}

bool takes_tools(const ChatTemplate& chat) {
  const auto prompt = render(chat, {}, PromptEnd::Generation, true);
  return prompt && prompt->find(kProbes[0].name) != std::string::npos;
}

std::optional<CallSyntax> read_call_syntax(const ChatTemplate& chat) {
  if (auto known = known_syntax(chat.source())) {
    const auto text =
        render(chat, {probe_answer(1, known->arguments_are_text)}, PromptEnd::Conversation, true);
    known->is_written = text && text->find(kKeys[0], text->rfind(kQuestion)) != std::string::npos;
    return known;
  }
  // Some templates write calls but fail on lists of tools.
  for (const bool with_tools : {true, false}) {
    for (const bool as_text : {false, true}) {
      if (auto syntax = read_with(chat, with_tools, as_text)) return syntax;
    }
  }
  return described_syntax(chat.source());
}

}  // namespace pippin::model_output
