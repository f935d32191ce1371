#include "pippin/nn/vision/sam_encoder.h"

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::nn {

using array::Array;

namespace {

Array sam_positions(const Parameters& parameters, const SamEncoderOptions& options, Grid grid) {
  const int64_t features = options.patches.features;
  const std::vector<int64_t> dims = {1, options.grid.height, options.grid.width, features};
  if (grid == options.grid) {
    return reshaped_weight(parameters.get(options.positions, dims),
                           parameters.path() + "." + options.positions,
                           {1, grid.count(), features});
  }
  const std::string own = fmt::format("{}.{}x{}", options.positions, grid.height, grid.width);
  const std::vector<int64_t> made_dims = {1, grid.count(), features};
  return parameters.made(own, made_dims, [&](const std::string& full) {
    const std::vector<double> rows = resize_grid(parameters.values(options.positions, dims),
                                                 features, options.grid, grid, options.resizing);
    return array::constant(parameters.type(), made_dims, rows, full);
  });
}

Array sam_layer(const Parameters& parameters, const SamLayerOptions& options, const Array& x) {
  const array::Scope scope(parameters.path());
  const int64_t features = options.attention.features;
  const Norm first(parameters.at(options.attention_norm), features, options.norm);
  const Array h =
      x + GridAttention(parameters.at(options.attention_path), options.attention)(first(x));
  const Norm second(parameters.at(options.mlp_norm), features, options.norm);
  LayerCarry carry;
  return h + MLP(parameters.at(options.mlp_path), options.mlp)(second(h), carry);
}

}  // namespace

Array halved(const Parameters& parameters, const std::vector<SamEncoderOptions::Halving>& halvings,
             Array planes) {
  for (const SamEncoderOptions::Halving& halving : halvings) {
    ConvolutionOptions convolution;
    convolution.dims = {halving.features, planes.dim(1).constant(), 3, 3};
    convolution.bias = false;
    convolution.strides = {2, 2};
    convolution.padding = {1, 1, 1, 1};
    planes = Convolution(parameters.at(halving.path), convolution)(planes);
  }
  return planes;
}

Array sam_encode(const Parameters& parameters, const SamEncoderOptions& options,
                 const Array& pixels) {
  const int64_t features = options.patches.features, narrow = options.neck_features;
  const Grid grid{pixels.dim(2).constant() / options.patches.height,
                  pixels.dim(3).constant() / options.patches.width};
  Array x = PatchEmbedding(parameters, options.patches)(pixels);
  if (!options.positions.empty()) x = x + sam_positions(parameters, options, grid);
  for (size_t i = 0; i < options.layers.size(); ++i) {
    x = sam_layer(parameters.at(options.layers_path).at(static_cast<int64_t>(i)), options.layers[i],
                  x);
  }
  const Parameters first = parameters.at(options.first);
  const Array matrix = reshaped_weight(first.get("weight", {narrow, features, 1, 1}),
                                       first.path() + ".weight", {narrow, features});
  x = Norm(parameters.at(options.first_norm), narrow,
           options.norm)(Linear(first.path(), matrix)(x));
  ConvolutionOptions second;
  second.dims = {narrow, narrow, 3, 3};
  second.bias = false;
  second.padding = {1, 1, 1, 1};
  x = rows_of_planes(Convolution(parameters.at(options.second), second)(planes_of_rows(x, grid)));
  x = Norm(parameters.at(options.second_norm), narrow, options.norm)(x);
  return halved(parameters, options.halvings, planes_of_rows(x, grid));
}

}  // namespace pippin::nn
