// The declared inputs and outputs of a tabular model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tabular/value.h"

namespace pippin::tabular {

struct Field {
  enum class Type : uint8_t { Double, Int64, String, Array, Dictionary, Other };
  std::string name;
  Type type = Type::Double;
  bool optional = false;
  // Array: the declared shape if it is the only one, else empty.
  std::vector<int64_t> shape;
  bool string_keys = false;  // Dictionary: the keys are strings, else whole numbers

  // The number of elements of a number, or of an array with one declared shape. Nullopt if it is
  // known only at run time, or if the shape is too large for any array.
  std::optional<int64_t> size() const;
};

// "a double", "an array", for messages.
std::string_view to_string(Field::Type type);

struct Interface {
  std::vector<Field> inputs, outputs;
  std::string predicted_feature, predicted_probabilities;

  std::optional<size_t> input_index(std::string_view name) const;
  // The only input or output. Throw InvalidFile if there are several or none; the message begins
  // with `kind`.
  const Field& only_input(std::string_view kind) const;
  const Field& only_output(std::string_view kind) const;
};

// `numbers` as the output that `field` declares: a number, or an array, in the declared shape if it
// has as many elements. Throws InvalidFile for other declarations.
Value number_output(const Field& field, std::vector<double> numbers);
// Throws InvalidFile unless `field` can hold `size` numbers (number_output).
void check_number_output(const Field& field, std::optional<int64_t> size);

}  // namespace pippin::tabular
