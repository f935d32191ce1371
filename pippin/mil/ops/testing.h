// For tests: runs one op on literals and compares the results with the shape rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/check/infer.h"

namespace pippin::mil {

inline Tensor numbers(DataType type, std::vector<int64_t> shape, std::vector<double> values) {
  Tensor tensor(type, std::move(shape));
  EXPECT_EQ(tensor.values.size(), values.size());
  tensor.values = std::move(values);
  return tensor;
}
inline Tensor floats(std::vector<int64_t> shape, std::vector<double> values) {
  return numbers(DataType::Float32, std::move(shape), std::move(values));
}
inline Tensor ints(std::vector<int64_t> shape, std::vector<double> values) {
  return numbers(DataType::Int32, std::move(shape), std::move(values));
}
inline Tensor ints(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return ints({count}, std::move(values));
}
inline Tensor bools(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return numbers(DataType::Bool, {count}, std::move(values));
}
inline Tensor flag(bool value) {
  return Tensor::scalar(DataType::Bool, value ? 1 : 0);
}
inline Tensor integer(int64_t value) {
  return Tensor::scalar(DataType::Int32, static_cast<double>(value));
}
inline Tensor text(std::string value) {
  Tensor tensor(DataType::String, {});
  tensor.strings = {std::move(value)};
  return tensor;
}

using Arguments = std::vector<std::pair<std::string, std::vector<Tensor>>>;

// All outputs; the last opset's rules unless said otherwise.
inline std::vector<Tensor> run_op(const std::string& type, const Arguments& arguments,
                                  Opset opset = Opset::CoreML8) {
  Operation operation(type);
  for (const auto& [name, tensors] : arguments) {
    for (const Tensor& tensor : tensors) operation.inputs()[name].push_back(to_value(tensor));
  }
  const auto no_vars = [](const Var*) -> const ValueInfo& {
    throw Error(ErrorCode::Internal, "no values");
  };
  std::vector<Constraint> constraints;
  const std::vector<ValueInfo> infos = infer_operation(operation, opset, no_vars, constraints);
  EXPECT_TRUE(constraints.empty());
  for (const ValueInfo& info : infos) {
    std::vector<int64_t> dims;
    for (const Dim& dim : info.shape) dims.push_back(dim.try_constant().value_or(kUnknownDim));
    ValueType declared = ValueType::tensor(info.type, std::move(dims));
    if (info.kind == ValueType::Kind::List) declared.parameters = {declared};
    if (info.kind == ValueType::Kind::Dictionary) {
      declared.parameters = {ValueType::scalar(info.key_type), ValueType::scalar(info.type)};
    }
    declared.kind = info.kind;
    operation.add_output(fmt::format("y{}", operation.outputs().size()), std::move(declared));
  }
  class NoVars final : public Environment {
    const Tensor& tensor_of(const Var*) override { throw Error(ErrorCode::Internal, "no values"); }
  } environment;
  std::vector<Tensor> outputs = evaluate_operation(operation, opset, environment);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!infos[i].elements) continue;
    std::vector<double> elements;
    for (const Dim& dim : *infos[i].elements) {
      elements.push_back(static_cast<double>(dim.constant()));
    }
    EXPECT_EQ(elements, outputs[i].values) << type;
  }
  return outputs;
}

// The only output.
inline Tensor run_one(const std::string& type, const Arguments& arguments,
                      Opset opset = Opset::CoreML8) {
  std::vector<Tensor> outputs = run_op(type, arguments, opset);
  EXPECT_EQ(outputs.size(), 1u);
  return outputs.empty() ? Tensor() : std::move(outputs[0]);
}

// NaN equals NaN; differences of one part in a hundred thousand are rounding.
inline void expect_tensor(const Tensor& actual, const std::vector<int64_t>& shape,
                          const std::vector<double>& values) {
  EXPECT_EQ(actual.shape, shape);
  ASSERT_EQ(actual.values.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(actual.values[i])) << i;
    } else if (std::isinf(values[i])) {
      EXPECT_EQ(actual.values[i], values[i]) << i;
    } else {
      EXPECT_NEAR(actual.values[i], values[i], 1e-5 * std::max(1.0, std::abs(values[i]))) << i;
    }
  }
}

template <typename Body>
ErrorCode error_code_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::Internal;
}

}  // namespace pippin::mil
