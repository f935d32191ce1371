#include "pippin/http/parameters.h"

#include <algorithm>

#include "pippin/base/numbers/ranges.h"

namespace pippin::http {

namespace {

constexpr std::string_view kBlanks = " \t";

bool is_token(std::string_view text) {
  constexpr std::string_view kSymbols = "!#$%&'*+-.^_`|~";
  return !text.empty() && ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSymbols.find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes a quoted string from the start of `text`.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string content;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text = text.substr(i + 1);
      return content;
    }
    const bool is_escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (is_escape) ++i;
    content += text[i];
  }
  return std::nullopt;
}

// Takes the value of a parameter and the blanks around it.
std::optional<std::string> take_value(std::string_view& text) {
  text = text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (text.starts_with('"')) return take_quoted(text);
  const std::string_view value = trimmed(text.substr(0, text.find(';')));
  text = text.substr(std::min(text.find(';'), text.size()));
  if (!is_token(value)) return std::nullopt;
  return std::string(value);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<std::string_view> ParameterizedValue::find(std::string_view name) const {
  for (const auto& [key, content] : parameters) {
    if (key == name) return content;
  }
  return std::nullopt;
}

std::optional<ParameterizedValue> parse_parameters(std::string_view text) {
  ParameterizedValue result;
  result.value = lower_case(trimmed(text.substr(0, text.find(';'))));
  if (result.value.empty()) return std::nullopt;
  text = text.substr(std::min(text.find(';'), text.size()));
  while (!text.empty()) {
    text = trimmed(text.substr(1));  // after the semicolon
    if (text.empty()) break;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string name = lower_case(trimmed(text.substr(0, equals)));
    text = text.substr(equals + 1);
    auto value = take_value(text);
    if (!is_token(name) || !value || result.find(name)) return std::nullopt;
    result.parameters.emplace_back(name, std::move(*value));
    text = trimmed(text);
    if (!text.empty() && text.front() != ';') return std::nullopt;
  }
  return result;
}

}  // namespace pippin::http
