#include "pippin/nn/vision/vision_layers.h"

#include <cmath>
#include <string>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::nn {

using array::Array;

Rotation rotation_by(const std::vector<double>& angles, int64_t count, mil::DataType type) {
  const size_t pairs = angles.size() / static_cast<size_t>(count);
  std::vector<double> cos(2 * angles.size()), sin(2 * angles.size());
  for (size_t i = 0; i < angles.size(); ++i) {
    const size_t at = i / pairs * 2 * pairs + i % pairs;
    cos[at] = cos[at + pairs] = std::cos(angles[i]);
    sin[at] = sin[at + pairs] = std::sin(angles[i]);
  }
  const std::vector<int64_t> dims = {1, 1, count, static_cast<int64_t>(2 * pairs)};
  const Array cosines = array::constant(type, dims, cos, "cos");
  return {cosines, array::constant(type, dims, sin, "sin")};
}

VisionLayers::VisionLayers(const Parameters& parameters, const std::vector<LayerOptions>& options) {
  layers_.reserve(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string path = options[i].path.empty() ? std::to_string(i) : options[i].path;
    layers_.emplace_back(parameters.at(path), options[i]);
  }
}

Array VisionLayers::run(size_t index, const Array& x, const Rotation* rotation,
                        const Array* mask) const {
  PassCache cache;
  LayerCarry carry;
  const mil::Dim& length = x.dim(1);
  const Pass pass{0, length, length, x};
  return layers_.at(index)(
      x, {static_cast<int64_t>(index), rotation, mask, cache, pass, carry, nullptr, nullptr});
}

Array VisionLayers::operator()(Array x, const Rotation* rotation, const Array* mask) const {
  for (size_t i = 0; i < layers_.size(); ++i) x = run(i, x, rotation, mask);
  return x;
}

}  // namespace pippin::nn
