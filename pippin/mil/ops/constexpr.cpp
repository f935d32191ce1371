// Compressed weights since CoreML8: full shapes, blocks, vectors, joint compression.
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/palette.h"

namespace pippin::mil {

int palette_bits(const OpContext& context, int64_t entries) {
  for (const int bits : {1, 2, 3, 4, 6, 8}) {
    if (entries == int64_t{1} << bits) return bits;
  }
  context.reject("a palette of {} entries", entries);
}

namespace {

Dims static_shape(InferContext& context, std::string_view parameter) {
  const auto shape = constant_shape(context.input(parameter).shape);
  if (!shape) context.reject("{} has no fixed shape", parameter);
  return *shape;
}

// Every size in `blocks` must divide the data's.
void check_blocks(const OpContext& context, const Dims& data, const Dims& blocks,
                  std::string_view name) {
  bool fits = data.size() == blocks.size();
  for (size_t i = 0; fits && i < data.size(); ++i) {
    fits = blocks[i] > 0 && data[i] % blocks[i] == 0;
  }
  if (!fits) context.reject("{} has shape {} for data {}", name, blocks, data);
}

// Offset of a data element's block in a tensor with one element per block.
int64_t block_offset(const Dims& index, const Dims& data, const Dims& blocks) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    offset = offset * blocks[i] + index[i] / (data[i] / blocks[i]);
  }
  return offset;
}

void check_scale(InferContext& context, const Dims& data) {
  const Dims scale = static_shape(context, "scale");
  check_blocks(context, data, scale, "scale");
  if (context.has("offset") && static_shape(context, "offset") != scale) {
    context.reject("offset and scale of different shapes");
  }
}

Infos infer_blockwise(InferContext& context) {
  const Dims data = static_shape(context, "data");
  check_scale(context, data);
  return one(tensor_info(context.input("scale").type, to_shape(data)));
}

double dequantized(const EvalContext& context, double value, int64_t block) {
  const auto at = static_cast<size_t>(block);
  const double offset = context.has("offset") ? context.input("offset").values.at(at) : 0;
  return (value - offset) * context.input("scale").values.at(at);
}

Tensors evaluate_blockwise(EvalContext& context) {
  const Tensor &data = context.input("data"), &scale = context.input("scale");
  const Tensor* offset = context.has("offset") ? &context.input("offset") : nullptr;
  Tensor result(scale.type, data.shape);
  size_t next = 0;
  for_each_index(data.shape, [&](const Dims& index) {
    const auto block = static_cast<size_t>(block_offset(index, data.shape, scale.shape));
    const double shift = offset != nullptr ? offset->values[block] : 0;
    result.values[next] = (data.values[next] - shift) * scale.values[block];
    ++next;
  });
  return one(std::move(result));
}

struct Palettes {
  Dims groups;          // per axis
  int64_t entries = 0;  // of each palette
  int64_t vector = 1;   // values per entry
  int64_t axis = 0;     // the axis along which they are stored
};

Palettes palettes_of(const OpContext& context, const Dims& indices, const Dims& lut) {
  if (lut.size() != indices.size() + 2) {
    context.reject("lut {} for indices {}", lut, indices);
  }
  Palettes palettes;
  palettes.groups.assign(lut.begin(), lut.end() - 2);
  palettes.entries = lut[lut.size() - 2];
  palettes.vector = lut.back();
  check_blocks(context, indices, palettes.groups, "lut");
  palette_bits(context, palettes.entries);
  if (palettes.vector < 1) context.reject("lut {}", lut);
  if (palettes.vector > 1 || context.has("vector_axis")) {
    palettes.axis = normalize_axis(context, context.int_param("vector_axis"),
                                   static_cast<int64_t>(indices.size()));
  }
  return palettes;
}

Dims expanded_shape(Dims shape, const Palettes& palettes) {
  if (palettes.vector > 1) shape[static_cast<size_t>(palettes.axis)] *= palettes.vector;
  return shape;
}

Infos infer_lut(InferContext& context) {
  const Dims indices = static_shape(context, "indices");
  const Palettes palettes = palettes_of(context, indices, static_shape(context, "lut"));
  return one(tensor_info(context.input("lut").type, to_shape(expanded_shape(indices, palettes))));
}

// Writes the palette entry of one index to its positions in `result`.
void expand_entry(const EvalContext& context, const Palettes& palettes, const Tensor& lut,
                  const Dims& index, const Dims& indices_shape, double code, Tensor& result) {
  if (code < 0 || code >= static_cast<double>(palettes.entries)) {
    context.reject("index {} into a palette of {}", code, palettes.entries);
  }
  const int64_t group = block_offset(index, indices_shape, palettes.groups);
  const int64_t entry = group * palettes.entries + static_cast<int64_t>(code);
  const Dims strides = strides_of(result.shape);
  Dims place = index;
  const auto axis = static_cast<size_t>(palettes.axis);
  if (palettes.vector > 1) place[axis] *= palettes.vector;
  for (int64_t v = 0; v < palettes.vector; ++v) {
    result.values[static_cast<size_t>(offset_of(place, strides))] =
        lut.values[static_cast<size_t>(entry * palettes.vector + v)];
    if (palettes.vector > 1) ++place[axis];
  }
}

Tensors evaluate_lut(EvalContext& context) {
  const Tensor &indices = context.input("indices"), &lut = context.input("lut");
  const Palettes palettes = palettes_of(context, indices.shape, lut.shape);
  Tensor result(lut.type, expanded_shape(indices.shape, palettes));
  size_t next = 0;
  for_each_index(indices.shape, [&](const Dims& index) {
    expand_entry(context, palettes, lut, index, indices.shape, indices.values[next++], result);
  });
  return one(std::move(result));
}

Infos infer_sparse(InferContext& context) {
  const ValueInfo &data = context.input("nonzero_data"), &mask = context.input("mask");
  if (data.shape.size() != 1) context.reject("nonzero_data has rank {}", data.shape.size());
  return one(tensor_info(data.type, mask.shape));
}

// Calls visit(index, position, value) for every 1 in the mask, with the next value of the
// data.
template <typename Visit>
void for_each_nonzero(const OpContext& context, const Tensor& mask, const Tensor& data,
                      Visit&& visit) {
  size_t place = 0, next = 0;
  for_each_index(mask.shape, [&](const Dims& index) {
    if (mask.values[place] != 0) {
      if (next == data.values.size()) context.reject("the mask has more than {} ones", next);
      visit(index, place, data.values[next++]);
    }
    ++place;
  });
  if (next != data.values.size()) {
    context.reject("the mask has {} ones, the data {} elements", next, data.values.size());
  }
}

Tensors evaluate_sparse(EvalContext& context) {
  const Tensor &data = context.input("nonzero_data"), &mask = context.input("mask");
  Tensor result(data.type, mask.shape);
  for_each_nonzero(context, mask, data,
                   [&](const Dims&, size_t place, double value) { result.values[place] = value; });
  return one(std::move(result));
}

Infos infer_lut_to_sparse(InferContext& context) {
  const ValueInfo &mask = context.input("indices_mask"),
                  &data = context.input("indices_nonzero_data"), &lut = context.input("lut");
  if (data.shape.size() != 1) context.reject("indices_nonzero_data must have rank 1");
  const Dims shape = static_shape(context, "indices_mask");
  const Palettes palettes = palettes_of(context, shape, static_shape(context, "lut"));
  return {tensor_info(mask.type, to_shape(expanded_shape(shape, palettes))),
          tensor_info(lut.type, {data.shape[0] * Dim(palettes.vector)})};
}

Tensors evaluate_lut_to_sparse(EvalContext& context) {
  const Tensor &mask = context.input("indices_mask"), &data = context.input("indices_nonzero_data"),
               &lut = context.input("lut");
  const Palettes palettes = palettes_of(context, mask.shape, lut.shape);
  const Dims shape = expanded_shape(mask.shape, palettes);
  Tensor dense(lut.type, shape), dense_mask(mask.type, shape);
  Tensor ones(mask.type, lut.shape);
  ones.values.assign(ones.values.size(), 1.0);
  for_each_nonzero(context, mask, data, [&](const Dims& index, size_t, double code) {
    expand_entry(context, palettes, lut, index, mask.shape, code, dense);
    expand_entry(context, palettes, ones, index, mask.shape, code, dense_mask);
  });
  Tensor values(lut.type, {data.size() * palettes.vector});
  size_t next = 0;
  for (size_t i = 0; i < dense.values.size(); ++i) {
    if (dense_mask.values[i] != 0) values.values.at(next++) = dense.values[i];
  }
  Tensors result = one(std::move(dense_mask));
  result.push_back(std::move(values));
  return result;
}

Infos infer_sparse_blockwise(InferContext& context) {
  const ValueInfo &mask = context.input("data_mask"), &data = context.input("nonzero_data");
  if (data.shape.size() != 1) context.reject("nonzero_data has rank {}", data.shape.size());
  check_scale(context, static_shape(context, "data_mask"));
  return {tensor_info(mask.type, mask.shape), tensor_info(context.input("scale").type, data.shape)};
}

Tensors evaluate_sparse_blockwise(EvalContext& context) {
  const Tensor &mask = context.input("data_mask"), &data = context.input("nonzero_data"),
               &scale = context.input("scale");
  Tensor values(scale.type, data.shape);
  size_t next = 0;
  for_each_nonzero(context, mask, data, [&](const Dims& index, size_t, double value) {
    values.values[next++] =
        dequantized(context, value, block_offset(index, mask.shape, scale.shape));
  });
  Tensors result = one(mask);
  result.push_back(std::move(values));
  return result;
}

}  // namespace

std::vector<OpDef> constexpr_ops() {
  std::vector<OpDef> ops = {
      {"constexpr_lut_to_dense",
       Opset::CoreML8,
       {constant("indices", "i"), constant("lut", "fi"), optional_constant("vector_axis", "i")},
       infer_lut,
       evaluate_lut,
       "Every index replaced by its palette's entry. lut is [groups per axis..., 2^n, V]: an "
       "axis's indices share palettes in equal groups; V values lie along vector_axis."},
      {"constexpr_sparse_to_dense",
       Opset::CoreML8,
       {constant("nonzero_data", "fi"), constant("mask", "i")},
       infer_sparse,
       evaluate_sparse,
       "The next of nonzero_data where the mask is 1, else 0."},
      {"constexpr_blockwise_shift_scale",
       Opset::CoreML8,
       {constant("data", "fi"), constant("scale", "f"), optional_constant("offset", "fi")},
       infer_blockwise,
       evaluate_blockwise,
       "(data - offset) * scale with one scale and offset per block: each size of scale divides "
       "data's."},
      {"constexpr_lut_to_sparse",
       Opset::CoreML8,
       {constant("indices_mask", "i"), constant("indices_nonzero_data", "i"), constant("lut", "fi"),
        optional_constant("vector_axis", "i")},
       infer_lut_to_sparse,
       evaluate_lut_to_sparse,
       "Palette entries of the indices where the mask is 1: the mask, repeated along vector_axis, "
       "and the values in its order.",
       2},
      {"constexpr_sparse_blockwise_shift_scale",
       Opset::CoreML8,
       {constant("data_mask", "i"), constant("nonzero_data", "fi"), constant("scale", "f"),
        optional_constant("offset", "fi")},
       infer_sparse_blockwise,
       evaluate_sparse_blockwise,
       "constexpr_blockwise_shift_scale of the elements where the mask is 1: the mask and the "
       "values, the block chosen by the place in the mask.",
       2},
  };
  return with_traits({Trait::Constant, Trait::Compressed}, std::move(ops));
}

}  // namespace pippin::mil
