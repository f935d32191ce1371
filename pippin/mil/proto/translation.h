// Builds the program of a model that has none: one function, main, with the model's inputs.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {

class Translation {
 public:
  // Reserves the names of the description's features: results get one only on request.
  explicit Translation(const FunctionDescription& description);

  // Adds an input with the feature's shape, or `undeclared` if it has none.
  Var* add_input(const Feature& feature, DataType type, const std::vector<int64_t>& undeclared);

  using Arguments = std::initializer_list<std::pair<std::string_view, Argument>>;
  // Adds an operation with a result of this type, which gets an unused name.
  Var* add(std::string_view op, ValueType type, Arguments arguments);
  // Appends an operation that has no results yet.
  Operation& append(std::string_view op, Arguments arguments);
  Var* add_constant(std::string_view name, Value value);
  std::string free_name(std::string_view stem);

  Program finish(std::vector<Var*> outputs);

 private:
  Program program_;
  Function* function_;
  Block* block_;
  std::set<std::string> names_;
};

Value int64_value(int64_t number);
// The class labels of a message as a list, for `classify` and similar ops. Throws InvalidFile if a
// label is repeated.
Value label_list(const std::vector<std::string>& labels);
Value label_list(const std::vector<int64_t>& labels);

template <typename Message>
Value read_labels(const Message& message) {
  if (message.has_int64_labels()) {
    const auto& labels = message.int64_labels().values();
    return label_list(std::vector<int64_t>(labels.begin(), labels.end()));
  }
  std::vector<std::string> labels;
  for (const auto& label : message.string_labels().values()) {
    labels.push_back(read_text(label, "a class label"));
  }
  return label_list(labels);
}

}  // namespace pippin::mil
