// For tests only: stages from messages, and their results.
#pragma once

#include <string>
#include <vector>

#include "pippin/tabular/readers.h"

namespace pippin::tabular {

inline Field field(std::string name, Field::Type type, std::vector<int64_t> shape = {}) {
  Field result;
  result.name = std::move(name);
  result.type = type;
  result.shape = std::move(shape);
  return result;
}

inline Field dictionary_field(std::string name, bool string_keys) {
  Field result = field(std::move(name), Field::Type::Dictionary);
  result.string_keys = string_keys;
  return result;
}

// A row of numbers in, an output `y` of this type out.
inline Interface row_interface(int64_t features, Field output) {
  Interface result;
  result.inputs = {field("x", Field::Type::Array, {features})};
  result.outputs = {std::move(output)};
  return result;
}

// A row of numbers in, an int64 label and a dictionary of probabilities out.
inline Interface classifier_interface(int64_t features) {
  Interface result = row_interface(features, field("label", Field::Type::Int64));
  result.outputs.push_back(dictionary_field("odds", false));
  result.predicted_feature = "label";
  result.predicted_probabilities = "odds";
  return result;
}

template <typename Message>
StagePtr stage_of(int64_t kind, const Message& message, const Interface& interface) {
  const std::string bytes = message.SerializeAsString();
  return read_stage(kind, as_byte_span(bytes), interface);
}

inline Value row(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return Array{{size}, std::move(values)};
}

inline std::vector<double> numbers(const Value& value) {
  if (const auto* array = std::get_if<Array>(&value)) return array->values;
  if (const auto* dictionary = std::get_if<Dictionary>(&value)) return dictionary->values;
  return {to_number(value)};
}

// The only output of the stage for one input.
inline Value run_one(const Stage& stage, Value input) {
  return stage.run({&input, 1}).at(0);
}

}  // namespace pippin::tabular
