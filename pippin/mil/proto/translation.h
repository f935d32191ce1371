// Writes the program of a model that is none: one function, main, whose inputs are the model's.
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

// An input, and how many numbers it has; kUnknownDim: as many as it declares.
struct RowPiece {
  const Feature* input;
  int64_t size;
};

class Translation {
 public:
  // The names of the description's features are taken: results may only be called so by choice.
  explicit Translation(const FunctionDescription& description);

  // Of the feature's shape, `undeclared` where it declares none.
  Var* add_input(const Feature& feature, DataType type, const std::vector<int64_t>& undeclared);

  // Adds the inputs, which are numbers or arrays, and joins their elements in a row of fp64. Throws
  // InvalidFile for inputs of other kinds or sizes, and without any.
  Var* add_row(const std::vector<RowPiece>& pieces);

  using Arguments = std::initializer_list<std::pair<std::string_view, Argument>>;
  // An operation with a result of this type, which gets a name that is free.
  Var* add(std::string_view op, ValueType type, Arguments arguments);
  // One without results yet.
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
// The labels of a message's classes as a list, for `classify` and the like. Throws InvalidFile
// where one is repeated.
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
