#include "pippin/mil/proto/translation.h"

#include <algorithm>
#include <span>

#include "pippin/base/error.h"

namespace pippin::mil {
namespace {

// As declared by the feature; sizes that it leaves open are unknown.
std::vector<int64_t> dims_of(const Feature& feature, const std::vector<int64_t>& undeclared) {
  if (feature.kind != Feature::Kind::MultiArray) return {1};
  if (feature.ranges.empty() && feature.enumerated_shapes.empty()) {
    return feature.shape.empty() ? undeclared : feature.shape;
  }
  std::vector<int64_t> dims;
  for (const SizeRange& range : feature.ranges) {
    dims.push_back(range.lower == range.upper ? range.lower : kUnknownDim);
  }
  if (!feature.ranges.empty()) return dims;
  dims = feature.enumerated_shapes.front();
  for (const auto& shape : feature.enumerated_shapes) {
    if (shape.size() != dims.size()) {
      fail(ErrorCode::InvalidFile, "'{}': shapes of different ranks", feature.name);
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      if (shape[i] != dims[i]) dims[i] = kUnknownDim;
    }
  }
  return dims;
}

template <typename Label>
void check_distinct(const std::vector<Label>& labels) {
  std::set<Label> known;
  for (const Label& label : labels) {
    if (!known.insert(label).second) {
      fail(ErrorCode::InvalidFile, "the class label '{}' is repeated", label);
    }
  }
}

template <typename Label, typename MakeValue>
Value list_of(DataType type, const std::vector<Label>& labels, MakeValue&& make_value) {
  check_distinct(labels);
  Value list;
  list.type.kind = ValueType::Kind::List;
  list.type.parameters = {ValueType::scalar(type)};
  list.type.list_length = std::ssize(labels);
  for (const Label& label : labels) list.elements.push_back(make_value(label));
  return list;
}

}  // namespace

Translation::Translation(const FunctionDescription& description) {
  auto function = std::make_unique<Function>();
  function->opset = to_string(Opset::CoreML5);
  auto block = std::make_unique<Block>();
  function_ = function.get();
  block_ = block.get();
  function->specializations.emplace(function->opset, std::move(block));
  program_.functions.emplace(description.name, std::move(function));
  for (const Feature& input : description.inputs) names_.insert(input.name);
  for (const Feature& output : description.outputs) names_.insert(output.name);
}

Var* Translation::add_input(const Feature& feature, DataType type,
                            const std::vector<int64_t>& undeclared) {
  return function_->add_input(feature.name, ValueType::tensor(type, dims_of(feature, undeclared)));
}

std::string Translation::free_name(std::string_view stem) {
  for (int i = 0;; ++i) {
    std::string name = fmt::format("{}_{}", stem, i);
    if (names_.insert(name).second) return name;
  }
}

Operation& Translation::append(std::string_view op, Arguments arguments) {
  Operation& operation = block_->append(std::string(op));
  for (const auto& [parameter, argument] : arguments) {
    operation.inputs().emplace(parameter, argument);
  }
  return operation;
}

Var* Translation::add(std::string_view op, ValueType type, Arguments arguments) {
  return append(op, arguments).add_output(free_name(op), std::move(type));
}

Var* Translation::add_constant(std::string_view name, Value value) {
  Operation& operation = block_->append("const");
  Var* var = operation.add_output(free_name(name), value.type);
  operation.attributes().emplace("val", std::move(value));
  return var;
}

Program Translation::finish(std::vector<Var*> outputs) {
  block_->outputs() = std::move(outputs);
  return std::move(program_);
}

Value label_list(const std::vector<std::string>& labels) {
  return list_of(DataType::String, labels,
                 [](const std::string& label) { return Value::of_string(label); });
}

Value label_list(const std::vector<int64_t>& labels) {
  return list_of(DataType::Int64, labels, int64_value);
}

Value int64_value(int64_t number) {
  Value value;
  value.type = ValueType::scalar(DataType::Int64);
  const auto bytes = std::as_bytes(std::span(&number, 1));
  value.bytes.assign(bytes.begin(), bytes.end());
  return value;
}

}  // namespace pippin::mil
