#include "pippin/model_output/json_scanner.h"

#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace pippin::model_output {
namespace {

constexpr size_t kMaxDepth = 100;  // same limit as for requests
constexpr size_t kMaxWord = 400;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// RFC 8259, section 6.
bool is_number(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - begin;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const bool has_zero = at < text.size() && text[at] == '0';
  const size_t count = digits();
  if (count == 0 || (has_zero && count > 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

std::optional<std::string> json_word(std::string_view word) {
  if (word == "true" || word == "True") return "true";
  if (word == "false" || word == "False") return "false";
  if (word == "null" || word == "None") return "null";
  if (is_number(word)) return std::string(word);
  return std::nullopt;
}

}  // namespace

JsonScanner::Status JsonScanner::push(std::string_view text, size_t& position, std::string& json) {
  while (position < text.size() && state_ != State::Done && state_ != State::Broken) {
    if (!take(text[position], json)) break;
    ++position;
  }
  if (state_ == State::Done) return Status::Done;
  return state_ == State::Broken ? Status::Broken : Status::More;
}

JsonScanner::Status JsonScanner::finish(std::string& json) {
  if (state_ == State::Word && open_.empty()) end_word(json);
  return state_ == State::Done ? Status::Done : Status::Broken;
}

bool JsonScanner::take(char c, std::string& json) {
  switch (state_) {
    case State::String:
      take_string(c, json);
      return true;
    case State::Escape:
      take_escape(c, json);
      return true;
    case State::Hexadecimal:
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
        state_ = State::Broken;
        return false;
      }
      json += c;
      if (--digits_ == 0) state_ = State::String;
      return true;
    case State::Word:
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.') {
        word_ += c;
        if (word_.size() <= kMaxWord) return true;
        state_ = State::Broken;
        return false;
      }
      if (!end_word(json) || state_ == State::Done) return false;
      return take_structure(c, json);
    default:
      return take_structure(c, json);
  }
}

bool JsonScanner::take_structure(char c, std::string& json) {
  if (is_blank(c)) {
    // Blanks before the value are not part of it.
    if (state_ != State::Value || !open_.empty()) json += c;
    return true;
  }
  switch (state_) {
    case State::FirstKey:
      if (c == '}') return close(c, json);
      [[fallthrough]];
    case State::Key:
      if (c != '"') break;
      is_key_ = true;
      state_ = State::String;
      json += c;
      return true;
    case State::Colon:
      if (c != ':') break;
      state_ = State::Value;
      json += c;
      return true;
    case State::Behind:
      if (c == ',') {
        state_ = open_.back() == '{' ? State::Key : State::Value;
        json += c;
        return true;
      }
      return close(c, json);
    case State::FirstValue:
      if (c == ']') return close(c, json);
      [[fallthrough]];
    default:
      return begin_value(c, json);
  }
  state_ = State::Broken;
  return false;
}

bool JsonScanner::begin_value(char c, std::string& json) {
  if (c == '{' || c == '[') {
    if (open_.size() < kMaxDepth) {
      open_.push_back(c);
      state_ = c == '{' ? State::FirstKey : State::FirstValue;
      json += c;
      return true;
    }
  } else if (c == '"') {
    is_key_ = false;
    state_ = State::String;
    json += c;
    return true;
  } else if (c == '-' || std::isalnum(static_cast<unsigned char>(c)) != 0) {
    word_ = c;
    state_ = State::Word;
    return true;
  }
  state_ = State::Broken;
  return false;
}

void JsonScanner::take_string(char c, std::string& json) {
  if (c == '\\') {
    state_ = State::Escape;
  } else if (c == '"') {
    json += c;
    if (is_key_) {
      state_ = State::Colon;
    } else {
      end_value();
    }
  } else if (static_cast<unsigned char>(c) < 0x20) {
    json += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\u{:04x}", c);
  } else {
    json += c;
  }
}

void JsonScanner::take_escape(char c, std::string& json) {
  state_ = State::String;
  if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
    json += {'\\', c};
  } else if (c == 'u') {
    json += "\\u";
    digits_ = 4;
    state_ = State::Hexadecimal;
  } else if (c == '\'') {
    json += c;
  } else {
    json += "\\\\";
    take_string(c, json);
  }
}

bool JsonScanner::end_word(std::string& json) {
  const auto word = json_word(word_);
  if (!word) {
    state_ = State::Broken;
    return false;
  }
  json += *word;
  end_value();
  return true;
}

bool JsonScanner::close(char c, std::string& json) {
  if (open_.empty() || c != (open_.back() == '{' ? '}' : ']')) {
    state_ = State::Broken;
    return false;
  }
  open_.pop_back();
  json += c;
  end_value();
  return true;
}

void JsonScanner::end_value() {
  state_ = open_.empty() ? State::Done : State::Behind;
}

}  // namespace pippin::model_output
