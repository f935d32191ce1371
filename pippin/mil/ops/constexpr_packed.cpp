// Compressed weights before CoreML8: flat packed data with a separate shape.
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/palette.h"

namespace pippin::mil {
namespace {

Infos infer_affine(InferContext& context) {
  const ValueInfo &data = context.input("quantized_data"), &scale = context.input("scale");
  const auto rank = static_cast<int64_t>(data.shape.size());
  const auto axis = static_cast<size_t>(normalize_axis(context, context.int_param("axis"), rank));
  for (const std::string_view name : {"scale", "zero_point"}) {
    const ValueInfo& info = context.input(name);
    if (info.shape.size() > 1) context.reject("{} has rank {}", name, info.shape.size());
    if (info.shape.size() == 1 && info.shape[0] != Dim(1)) {
      context.require_equal(info.shape[0], data.shape[axis], "one scale per slice");
    }
  }
  return one(tensor_info(scale.type, data.shape));
}

Tensors evaluate_affine(EvalContext& context) {
  Tensor result = context.input("quantized_data");
  const Tensor &scale = context.input("scale"), &zero = context.input("zero_point");
  const AxisView view(result.shape,
                      normalize_axis(context, context.int_param("axis"), result.rank()));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.size; ++i) {
      const double s = scale.values.at(scale.size() == 1 ? 0 : static_cast<size_t>(i));
      const double z = zero.values.at(zero.size() == 1 ? 0 : static_cast<size_t>(i));
      for (int64_t n = 0; n < view.inner; ++n) {
        double& value = result.values[view.at(o, i, n)];
        value = (value - z) * s;
      }
    }
  }
  return one(std::move(result));
}

Dims shape_parameter(const OpContext& context) {
  Dims shape = context.ints_param("shape");
  for (const int64_t size : shape) {
    if (size < 0) context.reject("shape {}", shape);
  }
  return shape;
}

void check_packed(InferContext& context, std::string_view name, const Dims& shape, int bits) {
  const ValueInfo& info = context.input(name);
  const auto bytes = constant_shape(info.shape);
  const int64_t needed = static_cast<int64_t>(
      packed_size(DataType::UInt8,
                  (num_elements(shape) / 8) * bits + (num_elements(shape) % 8 * bits + 7) / 8));
  if (!bytes || bytes->size() != 1 || (*bytes)[0] != needed) {
    context.reject("{} has shape {}, needs {} bytes", name, to_string(info.shape), needed);
  }
}

Infos infer_flat_lut(InferContext& context) {
  const ValueInfo& lut = context.input("lut");
  const Dims shape = shape_parameter(context);
  const auto entries = constant_shape(lut.shape);
  if (!entries || entries->size() != 1) context.reject("lut has shape {}", to_string(lut.shape));
  check_packed(context, "indices", shape, palette_bits(context, (*entries)[0]));
  return one(tensor_info(lut.type, to_shape(shape)));
}

Tensors evaluate_flat_lut(EvalContext& context) {
  const Tensor &lut = context.input("lut"), &indices = context.input("indices");
  const int bits = palette_bits(context, lut.size());
  Tensor result(lut.type, shape_parameter(context));
  for (size_t i = 0; i < result.values.size(); ++i) {
    const size_t bit = i * static_cast<size_t>(bits);
    auto window = static_cast<uint32_t>(indices.values.at(bit / 8));
    if (bit % 8 + static_cast<size_t>(bits) > 8) {
      window |= static_cast<uint32_t>(indices.values.at(bit / 8 + 1)) << 8;
    }
    result.values[i] = lut.values[(window >> (bit % 8)) & ((1u << bits) - 1)];
  }
  return one(std::move(result));
}

Infos infer_flat_sparse(InferContext& context) {
  const ValueInfo& data = context.input("nonzero_data");
  const Dims shape = shape_parameter(context);
  if (data.shape.size() != 1) context.reject("nonzero_data has rank {}", data.shape.size());
  check_packed(context, "mask", shape, 1);
  return one(tensor_info(data.type, to_shape(shape)));
}

Tensors evaluate_flat_sparse(EvalContext& context) {
  const Tensor &data = context.input("nonzero_data"), &mask = context.input("mask");
  Tensor result(data.type, shape_parameter(context));
  size_t next = 0;
  for (size_t i = 0; i < result.values.size(); ++i) {
    if ((static_cast<int>(mask.values.at(i / 8)) >> (i % 8) & 1) == 0) continue;
    if (next == data.values.size()) context.reject("the mask has more than {} ones", next);
    result.values[i] = data.values[next++];
  }
  if (next != data.values.size()) {
    context.reject("the mask has {} ones, nonzero_data {} elements", next, data.values.size());
  }
  return one(std::move(result));
}

Infos infer_constexpr_cast(InferContext& context) {
  const ValueInfo& source = context.input("source_val");
  return one(tensor_info(data_type_param(context, "output_dtype"), source.shape));
}
Tensors evaluate_constexpr_cast(EvalContext& context) {
  return one(context.input("source_val"));
}

}  // namespace

std::vector<OpDef> packed_constexpr_ops() {
  std::vector<OpDef> ops = {
      {"constexpr_affine_dequantize",
       Opset::CoreML6,
       {constant("quantized_data", "i"), constant("zero_point", "if"), constant("scale", "f"),
        constant("axis", "i")},
       infer_affine,
       evaluate_affine,
       "(quantized_data - zero_point) * scale; scale and zero_point are scalars or vectors along "
       "axis."},
      {"constexpr_cast",
       Opset::CoreML6,
       {constant("source_val", "f"), constant("output_dtype", "s")},
       infer_constexpr_cast,
       evaluate_constexpr_cast,
       "A constant in another float type."},
      {"constexpr_lut_to_dense",
       Opset::CoreML6,
       {constant("indices", "i"), constant("lut", "fi"), constant("shape", "i")},
       infer_flat_lut,
       evaluate_flat_lut,
       "lut[index] for every index of a tensor of this shape; the indices are packed n bits each "
       "into bytes, for a lut of 2^n entries."},
      {"constexpr_sparse_to_dense",
       Opset::CoreML6,
       {constant("nonzero_data", "fi"), constant("mask", "i"), constant("shape", "i")},
       infer_flat_sparse,
       evaluate_flat_sparse,
       "The next of nonzero_data where the mask's bit is 1, else 0, in a tensor of this shape."},
  };
  return with_traits({Trait::Constant, Trait::Compressed}, std::move(ops));
}

}  // namespace pippin::mil
