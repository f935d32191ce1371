#include "pippin/nn/vision/patch_embedding.h"

#include <vector>

#include "pippin/array/ops.h"
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

PatchEmbedding::PatchEmbedding(const Parameters& parameters, const PatchEmbeddingOptions& options)
    : convolution_(parameters.at(options.path), {.dims = weight_dims(options),
                                                 .bias = options.bias,
                                                 .strides = {options.height, options.width}}) {}

Array PatchEmbedding::operator()(const Array& pixels) const {
  const Array planes = convolution_(pixels);
  const Array flat =
      array::reshape(planes, {planes.dim(0), planes.dim(1), planes.dim(2) * planes.dim(3)});
  return array::transpose(flat, {0, 2, 1});
}

Linear cut_patch_embedding(const Parameters& parameters, const PatchEmbeddingOptions& options) {
  const Parameters at = parameters.at(options.path);
  const Array weight = with_dims(at.get("weight", weight_dims(options)), at.path() + ".weight",
                                 {options.features, options.size()});
  return Linear(at.path(), weight,
                options.bias ? std::optional(at.get("bias", {options.features})) : std::nullopt);
}

}  // namespace pippin::nn
