// Values of the input and output features of tabular models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pippin::tabular {

// Row-major.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

// Keys are distinct.
struct Dictionary {
  std::variant<std::vector<std::string>, std::vector<int64_t>> keys;
  std::vector<double> values;
};

// monostate: an optional input that is absent.
using Value = std::variant<std::monostate, double, int64_t, std::string, Array, Dictionary>;

// "a string", "an array of 4 numbers", for messages.
std::string describe(const Value& value);

// The value as one number: a number, or an array of one. Throws InvalidArgument for other values.
double to_number(const Value& value);
// The same for whole numbers.
int64_t to_integer(const Value& value);
// Throws InvalidArgument if the text is not a whole number.
int64_t parse_integer(std::string_view text);
// The keys as whole numbers; texts are converted. Throws InvalidArgument if one is not.
std::vector<int64_t> integer_keys(const Dictionary& dictionary);
// The keys as texts; whole numbers are converted.
std::vector<std::string> text_keys(const Dictionary& dictionary);

}  // namespace pippin::tabular
