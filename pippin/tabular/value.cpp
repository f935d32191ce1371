#include "pippin/tabular/value.h"

#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"

namespace pippin::tabular {

std::string describe(const Value& value) {
  switch (value.index()) {
    case 0:
      return "no value";
    case 1:
      return fmt::format("the number {}", std::get<double>(value));
    case 2:
      return fmt::format("the number {}", std::get<int64_t>(value));
    case 3:
      return "a string";
    case 4:
      return fmt::format("an array of {} numbers", std::get<Array>(value).values.size());
    default:
      return "a dictionary";
  }
}

double to_number(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  const auto* array = std::get_if<Array>(&value);
  if (array != nullptr && array->values.size() == 1) return array->values.front();
  fail(ErrorCode::InvalidArgument, "{}; expected a number", describe(value));
}

int64_t to_integer(const Value& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  const double number = to_number(value);
  if (std::trunc(number) == number && std::abs(number) < 0x1p63) {
    return static_cast<int64_t>(number);
  }
  fail(ErrorCode::InvalidArgument, "the number {} is not a whole number", number);
}

int64_t parse_integer(std::string_view text) {
  int64_t number = 0;
  if (parse_number(text, number)) return number;
  fail(ErrorCode::InvalidArgument, "the key '{}' is not a whole number", text);
}

std::vector<int64_t> integer_keys(const Dictionary& dictionary) {
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&dictionary.keys)) return *numbers;
  const auto& texts = std::get<std::vector<std::string>>(dictionary.keys);
  std::vector<int64_t> keys;
  keys.reserve(texts.size());
  for (const std::string& text : texts) keys.push_back(parse_integer(text));
  return keys;
}

std::vector<std::string> text_keys(const Dictionary& dictionary) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&dictionary.keys)) return *texts;
  const auto& numbers = std::get<std::vector<int64_t>>(dictionary.keys);
  std::vector<std::string> keys;
  keys.reserve(numbers.size());
  for (const int64_t number : numbers) keys.push_back(fmt::format("{}", number));
  return keys;
}

}  // namespace pippin::tabular
