#include "pippin/nn/vision/patch_embedding.h"

#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {

using array::Array;

namespace {

std::vector<int64_t> weight_dims(const PatchEmbeddingOptions& options) {
  std::vector<int64_t> dims = {options.features, options.channels};
  if (options.frames > 0) dims.push_back(options.frames);
  dims.push_back(options.height);
  dims.push_back(options.width);
  return dims;
}

}  // namespace

Array reshaped_weight(const Array& weight, std::string_view name, std::vector<int64_t> dims) {
  if (weight.info().constant != nullptr) return with_dims(weight, name, std::move(dims));
  return array::reshape(weight, mil::Shape(dims.begin(), dims.end()));
}

PatchEmbedding::PatchEmbedding(const Parameters& parameters, const PatchEmbeddingOptions& options)
    : convolution_(parameters.at(options.path), {.dims = weight_dims(options),
                                                 .bias = options.bias,
                                                 .strides = {options.height, options.width}}) {}

Array PatchEmbedding::operator()(const Array& pixels) const {
  return rows_of_planes(convolution_(pixels));
}

Linear cut_patch_embedding(const Parameters& parameters, const PatchEmbeddingOptions& options) {
  const Parameters at = parameters.at(options.path);
  const Array weight = reshaped_weight(at.get("weight", weight_dims(options)),
                                       at.path() + ".weight", {options.features, options.size()});
  return Linear(at.path(), weight,
                options.bias ? std::optional(at.get("bias", {options.features})) : std::nullopt);
}

}  // namespace pippin::nn
