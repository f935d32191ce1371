#include "pippin/tabular/interface.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::tabular {
namespace {

// Rounds and saturates; NaN is 0.
int64_t rounded(double number) {
  if (std::isnan(number)) return 0;
  if (number >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (number < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(std::nearbyint(number));
}

const Field& only(const std::vector<Field>& fields, std::string_view kind, std::string_view what) {
  if (fields.size() == 1) return fields.front();
  fail(ErrorCode::InvalidFile, "{} has {} {}s, not 1", kind, fields.size(), what);
}

}  // namespace

std::string_view to_string(Field::Type type) {
  switch (type) {
    case Field::Type::Double:
      return "a double";
    case Field::Type::Int64:
      return "an int64";
    case Field::Type::String:
      return "a string";
    case Field::Type::Array:
      return "an array";
    case Field::Type::Dictionary:
      return "a dictionary";
    case Field::Type::Other:
      break;
  }
  return "an image or a sequence";
}

std::optional<int64_t> Field::size() const {
  if (type == Type::Double || type == Type::Int64) return 1;
  if (type != Type::Array || shape.empty()) return std::nullopt;
  std::optional<int64_t> product = 1;
  for (const int64_t length : shape) {
    if (product) product = checked_mul(*product, length);
  }
  return product;
}

std::optional<size_t> Interface::input_index(std::string_view name) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const Field& input) { return input.name == name; });
  if (found == inputs.end()) return std::nullopt;
  return static_cast<size_t>(found - inputs.begin());
}

const Field& Interface::only_input(std::string_view kind) const {
  return only(inputs, kind, "input");
}

const Field& Interface::only_output(std::string_view kind) const {
  return only(outputs, kind, "output");
}

Value number_output(const Field& field, std::vector<double> numbers) {
  const auto size = static_cast<int64_t>(numbers.size());
  if (field.type == Field::Type::Array) {
    Array array;
    array.shape = field.size() == size ? field.shape : std::vector<int64_t>{size};
    array.values = std::move(numbers);
    return array;
  }
  check_number_output(field, size);
  if (field.type == Field::Type::Double) return numbers.front();
  return rounded(numbers.front());
}

void check_number_output(const Field& field, std::optional<int64_t> size) {
  const bool number = field.type == Field::Type::Double || field.type == Field::Type::Int64;
  if (!number && field.type != Field::Type::Array) {
    fail(ErrorCode::InvalidFile, "the output '{}' is declared as {}, not as numbers", field.name,
         to_string(field.type));
  }
  if (number && size && *size != 1) {
    fail(ErrorCode::InvalidFile, "the output '{}' is {} and cannot hold {} numbers", field.name,
         to_string(field.type), *size);
  }
  const std::optional<int64_t> declared = field.size();
  if (!number && size && declared && *declared != *size) {
    fail(ErrorCode::InvalidFile, "the output '{}' of shape {} cannot hold {} numbers", field.name,
         field.shape, *size);
  }
}

}  // namespace pippin::tabular
