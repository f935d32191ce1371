#include "pippin/model_output/call_head.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "pippin/base/exception.h"
#include "pippin/io/json.h"
#include "pippin/model_output/json_scanner.h"

namespace pippin::model_output {
namespace {

using Kind = CallPiece::Kind;

bool is_name_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Models confuse these keys with those of other models.
constexpr std::array<std::string_view, 4> kNameKeys = {"name", "tool_name", "function", "tool"};
constexpr std::array<std::string_view, 4> kArgumentKeys = {"arguments", "parameters", "args",
                                                           "input"};
constexpr std::array<std::string_view, 3> kIdKeys = {"id", "tool_call_id", "call_id"};
constexpr std::array<std::string_view, 2> kWrapperKeys = {"function", "tool_call"};

// Reads the value at `at` as JSON.
Found read_value(std::string_view text, size_t& at, std::string& json) {
  JsonScanner scanner;
  size_t end = at;
  json.clear();
  const auto status = scanner.push(text, end, json);
  if (status == JsonScanner::Status::More) return Found::More;
  if (status == JsonScanner::Status::Broken) return Found::No;
  at = end;
  return Found::Yes;
}

// Returns the text of a string; other values, and strings with unpaired surrogates, stay JSON.
std::string text_of(const std::string& json) {
  try {
    const Json value = Json::parse(json, "call");
    if (value.is_string()) return std::string(value.as_string());
  } catch (const Error&) {
    return json;
  }
  return json;
}

// Arguments are an object, or a string that contains one.
std::optional<std::string> arguments_of(const std::string& json) {
  if (json.starts_with('{')) return json;
  if (json == "null") return "{}";
  if (!json.starts_with('"')) return std::nullopt;
  const std::string text = text_of(json);
  if (mark_of(text).empty()) return "{}";
  size_t end = 0;
  std::string inner;
  if (read_value(text, end, inner) != Found::Yes || !inner.starts_with('{') ||
      skip_blanks(text, end) != text.size()) {
    return std::nullopt;
  }
  return inner;
}

}  // namespace

CallHeadReader::CallHeadReader(const CallSyntax& syntax, std::span<const Tool> tools)
    : syntax_(syntax) {
  for (const Tool& tool : tools) tools_.push_back(&tool);
  std::stable_sort(tools_.begin(), tools_.end(),
                   [](const Tool* a, const Tool* b) { return a->name.size() > b->name.size(); });
  bool behind_arguments = false;
  for (const CallPiece& piece : syntax.pieces) {
    behind_arguments = behind_arguments || piece.kind == Kind::Arguments;
    has_late_id_ = has_late_id_ || (behind_arguments && piece.kind == Kind::Id);
  }
  for (const Place place : {Place::Begin, Place::Content}) {
    for (const std::string& begin : begins(place)) {
      if (const auto mark = mark_of(begin); !mark.empty()) {
        first_bytes_ += mark[0];
      } else if (syntax.shape == CallSyntax::Shape::Function) {
        for (const Tool& tool : tools) first_bytes_ += tool.name[0];
      }
    }
  }
  if (syntax.shape == CallSyntax::Shape::Object) first_bytes_ += '{';
}

const Tool* CallHeadReader::find(std::string_view name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const Tool* tool) { return tool->name == name; });
  return found == tools_.end() ? nullptr : *found;
}

// Returns the marks that may precede a call's pieces. Models sometimes omit the outer marks.
std::vector<std::string> CallHeadReader::begins(Place place) const {
  std::vector<std::string> marks;
  const auto add = [&](const std::string& mark) {
    if (!mark_of(mark).empty()) marks.push_back(mark);
  };
  const std::string& call = syntax_.call_begin;
  if (place == Place::BehindCall && !mark_of(syntax_.separator).empty()) {
    add(syntax_.separator + call);
  }
  add(syntax_.section_begin + call);
  add(call);
  const std::string_view mark = mark_of(call);
  if (const size_t word = mark.find_last_of(kBlanks); word != std::string_view::npos) {
    if (mark.substr(word + 1).starts_with('<')) add(std::string(mark.substr(word + 1)));
  }
  const std::string_view section = mark_of(syntax_.section_begin);
  if (call.empty() && section.size() > 1 && section.ends_with('[')) {
    add(std::string(section.substr(0, section.size() - 1)));
  }
  // If only the bracket is left, the tools' names suffice to recognize a call.
  if (syntax_.arguments == CallSyntax::Arguments::Python && section.size() > 1 &&
      section.ends_with('[')) {
    add("[");
  }
  add(syntax_.loose_begin);
  if (place != Place::BehindCall && mark_of(syntax_.separator).size() > 1) add(syntax_.separator);
  const bool has_marks = !mark_of(call).empty() || !section.empty();
  const bool may_be_bare =
      syntax_.shape == CallSyntax::Shape::Object ? place != Place::Content : place == Place::Begin;
  if ((!has_marks && may_be_bare) || (place == Place::BehindCall && mark_of(call).empty())) {
    marks.emplace_back();
    if (syntax_.has_one_call && place == Place::BehindCall) marks.emplace_back(";");
  }
  return marks;
}

Found CallHeadReader::read(std::string_view text, Place place, bool is_all, CallHead& head) const {
  Found result = Found::No;
  for (const std::string& begin : begins(place)) {
    size_t at = 0;
    CallHead found;
    Found is_there = take_mark(text, at, begin);
    if (is_there == Found::Yes) {
      is_there = syntax_.shape == CallSyntax::Shape::Object
                     ? read_object(text, at, !mark_of(begin).empty(), found)
                     : read_function(text, at, is_all, found);
      if (is_there == Found::No && begin == syntax_.loose_begin && !begin.empty()) {
        is_there = read_python_call(text, at, is_all, found);
      }
    }
    if (is_there == Found::No) continue;
    if (is_there == Found::Yes || result == Found::No || found.tool != nullptr) head = found;
    if (is_there == Found::Yes) return is_there;
    result = is_there;
  }
  return result;
}

Found CallHeadReader::read_object(std::string_view text, size_t at, bool is_marked,
                                  CallHead& head) const {
  at = skip_blanks(text, at);
  if (at == text.size()) return Found::More;
  if (text[at++] != '{') return Found::No;
  head.open_objects = 1;
  std::optional<std::string> arguments;
  std::string json;
  while (true) {
    at = skip_blanks(text, at);
    if (at < text.size() && text[at] == ',') at = skip_blanks(text, at + 1);
    if (at == text.size()) return Found::More;
    if (text[at] == '}') {
      ++at;
      if (--head.open_objects > 0) continue;
      if (head.tool == nullptr) return Found::No;
      head.is_whole = true;
      head.arguments = arguments.value_or("{}");
      head.end = at;
      return Found::Yes;
    }
    if (text[at] != '"') return Found::No;
    if (const Found key = read_value(text, at, json); key != Found::Yes) return key;
    const std::string key = text_of(json);
    at = skip_blanks(text, at);
    if (at == text.size()) return Found::More;
    if (text[at++] != ':') return Found::No;
    at = skip_blanks(text, at);
    if (at == text.size()) return Found::More;
    const bool opens = text[at] == '{';
    const bool names_tool = syntax_.name_key.empty() && find(key) != nullptr;
    if (names_tool) head.tool = find(key);
    if (names_tool || key == syntax_.arguments_key || is_one_of(key, kArgumentKeys)) {
      if (opens && head.tool != nullptr && !has_late_id_) {
        head.end = at;
        return Found::Yes;
      }
      if (const Found value = read_value(text, at, json); value != Found::Yes) return value;
      arguments = arguments_of(json);
      if (!arguments) return Found::No;
    } else if (opens && (key == syntax_.wrapper_key || is_one_of(key, kWrapperKeys))) {
      ++at;
      ++head.open_objects;
    } else {
      const bool is_name = key == syntax_.name_key || is_one_of(key, kNameKeys);
      const bool is_id = key == syntax_.id_key || is_one_of(key, kIdKeys);
      // Without a mark, other keys mean that it is not a call.
      if (!is_marked && !is_name && !is_id && key != "type") return Found::No;
      if (const Found value = read_value(text, at, json); value != Found::Yes) return value;
      if (is_name) {
        head.tool = find(text_of(json));
        if (head.tool == nullptr) return Found::No;
      } else if (is_id) {
        head.id = text_of(json);
      }
    }
  }
}

Found CallHeadReader::read_name(std::string_view text, size_t& at, bool is_all,
                                CallHead& head) const {
  const size_t begin = skip_blanks(text, at);
  const std::string_view rest = text.substr(begin);
  for (const Tool* tool : tools_) {
    if (rest.starts_with(tool->name)) {
      const size_t end = begin + tool->name.size();
      if (end == text.size() && !is_all) return Found::More;
      if (end < text.size() && is_name_byte(text[end])) continue;
      head.tool = tool;
      at = end;
      return Found::Yes;
    }
    if (std::string_view(tool->name).starts_with(rest)) return Found::More;
  }
  return Found::No;
}

// Llama's built-in tools: name.call(k=v).
Found CallHeadReader::read_python_call(std::string_view text, size_t at, bool is_all,
                                       CallHead& head) const {
  head = {};
  if (const Found name = read_name(text, at, is_all, head); name != Found::Yes) return name;
  constexpr std::string_view kCall = ".call";
  if (const Found call = take_mark(text, at, kCall); call != Found::Yes) return call;
  if (at == text.size()) return Found::More;
  head.kind = CallSyntax::Arguments::Python;
  head.end = at;
  return text[at] == '(' ? Found::Yes : Found::No;
}

Found CallHeadReader::read_function(std::string_view text, size_t at, bool is_all,
                                    CallHead& head) const {
  at = skip_blanks(text, at);
  const size_t begin = at;
  bool is_numbered = false;
  for (const CallPiece& piece : syntax_.pieces) {
    if (piece.kind == Kind::Arguments) break;
    if (piece.kind == Kind::Text) {
      if (is_numbered) head.id = text.substr(begin, at - begin);
      is_numbered = false;
      if (const Found mark = take_mark(text, at, piece.text); mark != Found::Yes) return mark;
    } else if (piece.kind == Kind::Name) {
      if (const Found name = read_name(text, at, is_all, head); name != Found::Yes) return name;
    } else {
      const size_t first = at = skip_blanks(text, at);
      while (at < text.size() && is_name_byte(text[at])) ++at;
      if (at == text.size()) return Found::More;
      if (at == first) return Found::No;
      if (piece.kind == Kind::Id) head.id = text.substr(first, at - first);
      is_numbered = piece.kind == Kind::Number;
    }
  }
  head.end = at;
  head.kind = syntax_.arguments;
  if (syntax_.arguments == CallSyntax::Arguments::Tagged) return Found::Yes;
  at = skip_blanks(text, at);
  if (at == text.size()) return Found::More;
  head.end = at;
  const char open = syntax_.arguments == CallSyntax::Arguments::Python ? '(' : '{';
  return text[at] == open ? Found::Yes : Found::No;
}

}  // namespace pippin::model_output
