// The layers of a vision tower (nn/layer.h), without a cache: each patch sees all patches of its
// image, or those of its window.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The angles by which queries and keys of patches are rotated: `angles` has dims / 2 numbers for
// each of `count` patches, one after another; dimension i and i + dims / 2 form a pair. The cosines
// and sines are constants (1, 1, count, dims).
Rotation rotation_by(const std::vector<double>& angles, int64_t count, mil::DataType type);

class VisionLayers {
 public:
  // Layer i is below `parameters`, at its options' path or at i.
  VisionLayers(const Parameters& parameters, const std::vector<LayerOptions>& options);

  size_t size() const { return layers_.size(); }
  // One layer: x and the result are (batch, patches, features). Null: no rotation, all patches of
  // the batch's element are seen.
  array::Array run(size_t index, const array::Array& x, const Rotation* rotation = nullptr,
                   const array::Array* mask = nullptr) const;
  // All of them.
  array::Array operator()(array::Array x, const Rotation* rotation = nullptr,
                          const array::Array* mask = nullptr) const;

 private:
  std::vector<DecoderLayer> layers_;
};

}  // namespace pippin::nn
