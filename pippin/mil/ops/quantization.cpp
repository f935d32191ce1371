// Quantization of activations at run time.
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

void check_vectors(InferContext& context) {
  const ValueInfo& input = context.input("input");
  for (const std::string_view name : {"scale", "zero_point"}) {
    if (name == "zero_point" && !context.has(name)) continue;
    const ValueInfo& info = context.input(name);
    if (info.shape.empty()) continue;
    if (info.shape.size() != 1) context.reject("{} has rank {}", name, info.shape.size());
    const int64_t axis = normalize_axis(context, context.int_param("axis"),
                                        static_cast<int64_t>(input.shape.size()));
    context.require_equal(info.shape[0], input.shape[static_cast<size_t>(axis)],
                          "one scale and zero point per slice");
  }
}

// Calls change(value, scale, zero point) for every element of the input.
template <typename Change>
Tensor changed(EvalContext& context, Change&& change) {
  Tensor result = context.input("input");
  const Tensor& scale = context.input("scale");
  Tensor zero(DataType::Int32, {});
  if (context.has("zero_point")) zero = context.input("zero_point");
  const bool vectors = scale.rank() == 1 || zero.rank() == 1;
  const int64_t axis =
      vectors ? normalize_axis(context, context.int_param("axis"), result.rank()) : 0;
  const AxisView view(result.shape, axis);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.size; ++i) {
      const double s = scale.values.at(scale.rank() == 1 ? static_cast<size_t>(i) : 0);
      const double z = zero.values.at(zero.rank() == 1 ? static_cast<size_t>(i) : 0);
      for (int64_t n = 0; n < view.inner; ++n) {
        double& value = result.values[view.at(o, i, n)];
        value = change(value, s, z);
      }
    }
  }
  return result;
}

DataType quantized_type(const OpContext& context) {
  const DataType type = data_type_param(context, "output_dtype");
  if (type != DataType::Int8 && type != DataType::UInt8) {
    context.reject("output_dtype is {}", to_string(type));
  }
  return type;
}

Infos infer_quantize(InferContext& context) {
  check_vectors(context);
  return one(tensor_info(quantized_type(context), context.input("input").shape));
}

Tensors evaluate_quantize(EvalContext& context) {
  const bool is_signed = quantized_type(context) == DataType::Int8;
  const double lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
  return one(changed(context, [&](double value, double scale, double zero) {
    const double code = std::nearbyint(value / scale) + zero;
    if (std::isnan(code)) return 0.0;
    return code < lowest ? lowest : code > highest ? highest : code;
  }));
}

Infos infer_dequantize(InferContext& context) {
  check_vectors(context);
  return one(tensor_info(context.input("scale").type, context.input("input").shape));
}

Tensors evaluate_dequantize(EvalContext& context) {
  return one(changed(
      context, [](double value, double scale, double zero) { return (value - zero) * scale; }));
}

}  // namespace

std::vector<OpDef> quantization_ops() {
  return {
      {"quantize",
       Opset::CoreML7,
       {tensor("input", "f"), optional_constant("zero_point", "i"), constant("scale", "f"),
        optional_constant("axis", "i"), constant("output_dtype", "s")},
       infer_quantize,
       evaluate_quantize,
       "input / scale rounded to the nearest integer, halves to the even one, plus zero_point, "
       "limited to output_dtype (int8 or uint8). Scale and zero_point are scalars or vectors along "
       "axis."},
      {"dequantize",
       Opset::CoreML7,
       {tensor("input", "i"), optional_constant("zero_point", "i"), constant("scale", "f"),
        optional_constant("axis", "i")},
       infer_dequantize,
       evaluate_dequantize,
       "(input - zero_point) * scale; both are scalars or vectors along axis."},
  };
}

}  // namespace pippin::mil
