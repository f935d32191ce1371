// Activations to 8-bit quantized values and back.
#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/codes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// One number for each slice.
std::vector<float> numbers(Builder& builder, const mil::Operation& operation, std::string_view name,
                           size_t slices) {
  const auto most = static_cast<int64_t>(std::max<size_t>(1, slices));
  const auto values = builder.constant_floats(builder.view(operation, name), most);
  if (!values || (values->size() != 1 && values->size() != slices)) {
    fail(ErrorCode::Unsupported, "{}: '{}' is not constant", builder.where(operation), name);
  }
  if (values->size() == 1) return std::vector<float>(slices, values->front());
  return *values;
}

// The input's shape as [outer, slices, inner].
Shape with_slices(Builder& builder, const mil::Operation& operation) {
  const Shape shape = builder.shape(operation, "input");
  const auto is_vector = [&](std::string_view name) {
    return operation.find_input(name) != nullptr && !builder.shape(operation, name).empty();
  };
  if (!is_vector("scale") && !is_vector("zero_point")) {
    return {Dim(1), Dim(1), mil::num_elements(shape)};
  }
  const auto axis = static_cast<std::ptrdiff_t>(
      normalize_axis(int_param(builder, operation, "axis"), static_cast<int64_t>(shape.size())));
  return {mil::num_elements(Shape(shape.begin(), shape.begin() + axis)),
          shape.at(static_cast<size_t>(axis)),
          mil::num_elements(Shape(shape.begin() + axis + 1, shape.end()))};
}

void quantize(Builder& builder, const mil::Operation& operation) {
  emit_codes(builder, operation, CodeOp::Quantize, builder.floats(operation, "input"),
             code_scales(builder, operation));
}

void dequantize(Builder& builder, const mil::Operation& operation) {
  emit_codes(builder, operation, CodeOp::Dequantize, builder.ints(operation, "input"),
             code_scales(builder, operation));
}

}  // namespace

CodeScales code_scales(Builder& builder, const mil::Operation& operation) {
  constexpr int64_t kMostSlices = int64_t{1} << 20;
  constexpr float kMostZero = int64_t{1} << 20;
  CodeScales result{with_slices(builder, operation), {}};
  const auto slices = result.shape[1].try_constant();
  if (!slices || *slices > kMostSlices) {
    fail(ErrorCode::Unsupported, "{}: {} slices", builder.where(operation),
         mil::to_string({result.shape[1]}));
  }
  const auto count = static_cast<size_t>(*slices);
  const std::vector<float> scales = numbers(builder, operation, "scale", count);
  std::vector<float> zeros(count, 0);
  if (operation.find_input("zero_point") != nullptr) {
    zeros = numbers(builder, operation, "zero_point", count);
  }
  const bool quantizes = operation.type() == "quantize";
  const mil::DataType codes = quantizes ? builder.info(operation.output()).type
                                        : builder.info(operation.input_var("input")).type;
  for (size_t i = 0; i < count; ++i) {
    if (std::abs(zeros[i]) > kMostZero) {
      fail(ErrorCode::Unsupported, "{}: a zero point of {}", builder.where(operation), zeros[i]);
    }
    result.slices.push_back(
        {scales[i], static_cast<int32_t>(zeros[i]), codes == mil::DataType::UInt8 ? 0 : -128});
  }
  return result;
}

void emit_codes(Builder& builder, const mil::Operation& operation, CodeOp op, const View& x,
                const CodeScales& scales) {
  const Storage storage = op == CodeOp::Quantize ? Storage::I32 : Storage::F32;
  const View y = builder.allocate(storage, builder.info(operation.output()).shape);
  builder.emit(CodeNode{op, scales.slices}, {*reshape_view(y, scales.shape),
                                             *reshape_view(builder.contiguous(x), scales.shape)});
  builder.define_output(operation, y);
}

void add_quantization_rules(Rules& rules) {
  rules["quantize"] = quantize;
  rules["dequantize"] = dequantize;
}

}  // namespace pippin::engine
