#include "pippin/model_output/call_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pippin/model_output/literal_values.h"

namespace pippin::model_output {
namespace {

constexpr size_t kMaxKey = 1000;

// Returns the value in JSON if the text is one.
std::optional<std::string> whole_json(std::string_view text) {
  JsonScanner scanner;
  std::string json;
  size_t end = 0;
  auto status = scanner.push(text, end, json);
  if (status == JsonScanner::Status::More) status = scanner.finish(json);
  if (status != JsonScanner::Status::Done || skip_blanks(text, end) != text.size()) {
    return std::nullopt;
  }
  return json;
}

// Escapes a text as the inside of a JSON string.
std::string escaped(std::string_view text) {
  const std::string quoted = json_string(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

CallParser::CallParser(CallParserOptions options)
    : options_(std::move(options)), syntax_(*options_.syntax), heads_(syntax_, *options_.tools) {}

void CallParser::push(std::string_view text, AnswerParts& parts) {
  if (state_ == State::Over) return;
  text_ += text;
  while (step(parts)) continue;
}

void CallParser::finish(bool was_cut, AnswerParts& parts) {
  is_all_ = true;
  while (!text_.empty() && step(parts)) continue;
  if (state_ == State::Content && !text_.empty()) {
    CallHead head;
    const auto place = has_begun_ ? CallHeadReader::Place::Content : CallHeadReader::Place::Begin;
    const size_t at = skip_blanks(text_, 0);
    // The answer was cut when the call's tool was already known.
    if (was_cut &&
        heads_.read(std::string_view(text_).substr(at), place, true, head) == Found::More &&
        head.tool != nullptr) {
      begin_call(head, at, parts);
      return;
    }
    give(text_.size(), parts);
  }
  if (state_ == State::ObjectEnd || state_ == State::CallEnd ||
      (state_ == State::Key && text_.empty() && !was_cut)) {
    state_ = State::CallEnd;
    call_end(parts);
  }
  const bool is_within =
      state_ == State::Arguments || state_ == State::Key || state_ == State::Value;
  if (is_within && !was_cut) {
    broken(parts);
    give(text_.size(), parts);
  }
  text_.clear();
}

bool CallParser::step(AnswerParts& parts) {
  switch (state_) {
    case State::Content:
      return content(parts);
    case State::Arguments:
      return kind_ == CallSyntax::Arguments::Json ? json_arguments(parts)
                                                  : literal_arguments(parts);
    case State::Key:
      return tagged_key(parts);
    case State::Value:
      return tagged_value(parts);
    case State::ObjectEnd:
      return object_end();
    case State::CallEnd:
      return call_end(parts);
    case State::BehindCall:
      return behind_call(parts);
    case State::Over:
      break;
  }
  text_.clear();
  return false;
}

// --- content ---

void CallParser::take(size_t size) {
  raw_ += text_.substr(0, size);
  text_.erase(0, size);
}

void CallParser::give(size_t size, AnswerParts& parts) {
  if (size == 0) return;
  const std::string_view given = std::string_view(text_).substr(0, size);
  add_part(parts, AnswerPart::Kind::Content, given);
  has_begun_ = has_begun_ || !mark_of(given).empty();
  is_line_begin_ = given.ends_with('\n') || (is_line_begin_ && mark_of(given).empty());
  text_.erase(0, size);
}

bool CallParser::content(AnswerParts& parts) {
  const std::string_view text = text_;
  if (!has_begun_ && !syntax_.content_begin.empty()) {
    size_t end = 0;
    const Found begin = take_mark(text, end, syntax_.content_begin);
    if (begin == Found::More && !is_all_) return false;
    if (begin == Found::Yes) {
      // Its own line break belongs to the mark.
      const bool has_line = syntax_.content_begin.ends_with('\n');
      if (has_line && end == text.size() && !is_all_) return false;
      if (has_line && end < text.size() && text[end] == '\n') ++end;
      has_begun_ = true;
      text_.erase(0, end);
      return true;
    }
  }
  size_t blanks = 0;  // where the blanks before `at` begin
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (kBlanks.find(c) != std::string_view::npos) continue;
    if (!syntax_.content_end.empty() && c == syntax_.content_end[0]) {
      const std::string_view here = text.substr(at, syntax_.content_end.size());
      if (here == syntax_.content_end) {
        text_.erase(at, here.size());
        return true;
      }
      if (syntax_.content_end.starts_with(here) && !is_all_) {
        give(blanks, parts);
        return false;
      }
    }
    if (!options_.tools->empty() && heads_.first_bytes().find(c) != std::string::npos) {
      const bool is_begin = !has_begun_ && blanks == 0;
      const bool is_line = at == 0 ? is_line_begin_ : text[at - 1] == '\n';
      const auto place = is_begin  ? CallHeadReader::Place::Begin
                         : is_line ? CallHeadReader::Place::LineBegin
                                   : CallHeadReader::Place::Content;
      CallHead head;
      const Found found = heads_.read(text.substr(at), place, is_all_, head);
      if (found == Found::Yes) {
        give(blanks, parts);
        begin_call(head, at - blanks, parts);
        return true;
      }
      if (found == Found::More && !is_all_) {
        give(blanks, parts);
        return false;
      }
    }
    blanks = at + 1;
  }
  // Blanks before a call are not part of the content.
  if (!is_all_) give(blanks, parts);
  return false;
}

void CallParser::begin_call(const CallHead& head, size_t begin, AnswerParts& parts) {
  tool_ = head.tool;
  has_begun_ = true;
  raw_.clear();
  take(begin + head.end);
  scanner_ = {};
  has_key_ = false;
  open_objects_ = head.open_objects;
  kind_ = head.kind;
  parts.push_back({.kind = AnswerPart::Kind::CallBegin,
                   .text = tool_->name,
                   .index = num_calls_,
                   .id = head.id.empty() ? options_.make_id() : head.id});
  if (head.is_whole) {
    add_arguments(head.arguments, parts);
    state_ = State::CallEnd;
    return;
  }
  const bool is_tagged = kind_ == CallSyntax::Arguments::Tagged;
  if (is_tagged) add_arguments("{", parts);
  state_ = is_tagged ? State::Key : State::Arguments;
}

bool CallParser::broken(AnswerParts& parts) {
  parts.push_back({.kind = AnswerPart::Kind::CallBroken,
                   .text = std::exchange(raw_, {}),
                   .index = num_calls_++});
  state_ = State::Content;
  is_line_begin_ = false;
  return true;
}

// --- arguments ---

void CallParser::add_arguments(std::string_view json, AnswerParts& parts) {
  add_part(parts, AnswerPart::Kind::Arguments, json, num_calls_);
}

void CallParser::add_key(std::string_view key, AnswerParts& parts) {
  add_arguments((has_key_ ? ", " : "") + json_string(key) + ": ", parts);
  has_key_ = true;
}

bool CallParser::json_arguments(AnswerParts& parts) {
  size_t end = 0;
  std::string json;
  const auto status = scanner_.push(text_, end, json);
  add_arguments(json, parts);
  take(end);
  if (status == JsonScanner::Status::Broken) return broken(parts);
  if (status == JsonScanner::Status::More) return false;
  state_ = open_objects_ > 0 ? State::ObjectEnd : State::CallEnd;
  return true;
}

// Reads (k=v, ...) or {k:v, ...}, one argument at a time.
bool CallParser::literal_arguments(AnswerParts& parts) {
  const bool is_python = kind_ == CallSyntax::Arguments::Python;
  const std::string_view text = text_;
  size_t at = skip_blanks(text, 0);
  if (at == text.size()) return false;
  if (!has_key_ && open_objects_ == 0) {
    open_objects_ = 1;  // the bracket
    add_arguments("{", parts);
    take(at + 1);
    return true;
  }
  if (text[at] == ',') at = skip_blanks(text, at + 1);
  if (at == text.size()) return false;
  if (text[at] == (is_python ? ')' : '}')) {
    add_arguments("}", parts);
    take(at + 1);
    open_objects_ = 0;
    state_ = State::CallEnd;
    return true;
  }
  const size_t equals = text.find(is_python ? '=' : ':', at);
  if (equals == std::string_view::npos) {
    return text.size() - at > kMaxKey ? broken(parts) : false;
  }
  std::string_view key = mark_of(text.substr(at, equals - at));
  if (!syntax_.quote.empty() && key.starts_with(syntax_.quote) && key.ends_with(syntax_.quote) &&
      key.size() > 2 * syntax_.quote.size()) {
    key = key.substr(syntax_.quote.size(), key.size() - 2 * syntax_.quote.size());
  }
  if (key.empty() || key.find_first_of("()[]{}\"',") != std::string_view::npos)
    return broken(parts);
  std::string json;
  size_t end = equals + 1;
  const Found value = is_python ? read_python_value(text, end, json)
                                : read_quoted_value(text, end, syntax_.quote, json);
  if (value == Found::No) return broken(parts);
  if (value == Found::More) {
    if (key != key_) add_key(key_ = key, parts);
    return false;
  }
  if (key != key_) add_key(key, parts);
  key_.clear();
  add_arguments(json, parts);
  take(end);
  return true;
}

// Accepts the mark at a call's end, or its last or first word, because models abbreviate it.
Found CallParser::ends_call(std::string_view text, size_t& position) const {
  const Found whole = take_mark(text, position, syntax_.call_end);
  if (whole == Found::Yes || (whole == Found::More && !is_all_)) return whole;
  const std::string_view mark = mark_of(syntax_.call_end);
  const size_t word = mark.find_last_of(kBlanks);
  if (word == std::string_view::npos) return whole;
  const Found last = take_mark(text, position, mark.substr(word + 1));
  if (last != Found::No) return last;
  return take_mark(text, position, mark.substr(0, mark.find_first_of(kBlanks)));
}

bool CallParser::tagged_key(AnswerParts& parts) {
  size_t at = 0;
  const Found key = take_mark(text_, at, syntax_.key_begin);
  if (key == Found::No) {
    size_t end = 0;
    const Found is_over = ends_call(text_, end);
    if (is_over == Found::No) return broken(parts);
    if (is_over == Found::More) return false;
    add_arguments("}", parts);
    state_ = State::CallEnd;
    return true;
  }
  if (key == Found::More) return false;
  const std::string_view text = text_;
  const MarkPlace plain = find_mark(text, at, syntax_.key_end);
  const MarkPlace other = find_mark(text, at, syntax_.key_end_other);
  const bool is_other = other.begin < plain.begin;
  const auto [end, behind] = is_other ? other : plain;
  if (std::min(end, text.size()) - at > kMaxKey) return broken(parts);
  if (end == std::string_view::npos) return false;
  key_ = mark_of(text.substr(at, end - at));
  const ValueKinds kinds = kinds_of(*tool_, key_);
  is_text_ = syntax_.key_end_other.empty() ? !kinds.other : !is_other;
  is_json_ = is_other || !kinds.text;
  has_begun_value_ = false;
  add_key(key_, parts);
  if (is_text_) add_arguments("\"", parts);
  take(behind);
  state_ = State::Value;
  return true;
}

bool CallParser::tagged_value(AnswerParts& parts) {
  const std::string& key_end = syntax_.key_end;
  if (!has_begun_value_) {
    if (text_.empty()) return false;
    has_begun_value_ = true;
    if (key_end.ends_with('\n') && text_[0] == '\n') take(1);
  }
  const std::string_view text = text_;
  const std::string_view mark = mark_of(syntax_.value_end);
  const bool drops_line = syntax_.value_end.starts_with('\n');
  // The mark may be part of the value, so another argument or the call's end must follow.
  size_t end = std::string_view::npos;
  bool is_sure = false;
  for (size_t from = 0; (end = text.find(mark, from)) != std::string_view::npos;
       from = end + mark.size()) {
    const std::string_view rest = text.substr(end + mark.size());
    size_t key = 0, over = 0;
    const Found next = take_mark(rest, key, syntax_.key_begin);
    const Found is_over = ends_call(rest, over);
    is_sure = next == Found::Yes || is_over == Found::Yes || (is_all_ && mark_of(rest).empty());
    if (is_sure || next == Found::More || is_over == Found::More) break;
  }
  if (!is_sure) {
    // Text that certainly belongs to the value.
    size_t size = end == std::string_view::npos ? text.size() - held_back(text, mark) : end;
    if (drops_line && size > 0 && text[size - 1] == '\n') --size;
    if (is_text_) {
      add_arguments(escaped(text.substr(0, size)), parts);
      take(size);
    }
    return false;
  }
  std::string_view value = text.substr(0, end);
  if (drops_line && value.ends_with('\n')) value.remove_suffix(1);
  if (is_text_) {
    add_arguments(escaped(value) + "\"", parts);
  } else {
    const auto json = whole_json(value);
    // A value that may be a text stays unchanged, including quotes.
    const bool is_value = json && (is_json_ || !json->starts_with('"'));
    add_arguments(is_value ? *json : json_string(value), parts);
  }
  take(end + mark.size());
  state_ = State::Key;
  return true;
}

// --- after the arguments ---

// Skips further members and the brackets.
bool CallParser::object_end() {
  const std::string_view text = text_;
  size_t at = skip_blanks(text, 0);
  if (at == text.size()) return false;
  if (text[at] == '}') {
    take(at + 1);
    if (--open_objects_ == 0) state_ = State::CallEnd;
    return true;
  }
  if (text[at] == ',') {
    for (const bool is_key : {true, false}) {
      at = skip_blanks(text, at + 1);
      if (at == text.size()) return false;
      if (is_key && text[at] != '"') break;
      JsonScanner scanner;
      std::string json;
      const auto status = scanner.push(text, at, json);
      if (status == JsonScanner::Status::More) return false;
      if (status == JsonScanner::Status::Broken) break;
      at = skip_blanks(text, at);
      if (at == text.size()) return false;
      if (!is_key) {
        take(at);
        return true;
      }
      if (text[at] != ':') break;
    }
  }
  state_ = State::CallEnd;  // the arguments are complete; the rest does not matter
  return true;
}

bool CallParser::call_end(AnswerParts& parts) {
  size_t end = 0;
  const Found mark = ends_call(text_, end);
  if (mark == Found::More && !is_all_) return false;
  if (mark == Found::Yes) take(end);
  parts.push_back({.kind = AnswerPart::Kind::CallEnd, .index = num_calls_++});
  state_ = options_.is_parallel ? State::BehindCall : State::Over;
  return true;
}

bool CallParser::behind_call(AnswerParts& parts) {
  const std::string_view text = text_;
  CallHead head;
  const Found next = heads_.read(text, CallHeadReader::Place::BehindCall, is_all_, head);
  if (next == Found::Yes) {
    begin_call(head, 0, parts);
    return true;
  }
  size_t end = 0;
  const Found is_over =
      mark_of(syntax_.section_end).empty() ? Found::No : take_mark(text, end, syntax_.section_end);
  if (is_over != Found::Yes && (next == Found::More || is_over == Found::More) && !is_all_) {
    return false;
  }
  if (is_over == Found::Yes) {
    text_.erase(0, end);
  } else if (const size_t at = skip_blanks(text, 0);
             at < text.size() && text[at] == ']' && mark_of(syntax_.section_end).starts_with(']')) {
    text_.erase(0, at + 1);  // only the bracket
  }
  state_ = State::Content;
  is_line_begin_ = false;
  return !text_.empty();
}

}  // namespace pippin::model_output
