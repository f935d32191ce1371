// The second half of a decoder's layer, applied to each token separately. A dense network
// (nn/layers/mlp.h) is one, a mixture of experts (nn/experts/experts.h) another; nn/layer.h lists
// them.
#pragma once

#include <memory>

#include "pippin/array/array.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class FeedForward {
 public:
  virtual ~FeedForward() = default;
  // x is (1, q, features), or in the style's layout (nn/weights/style.h); so is the result.
  virtual array::Array operator()(const array::Array& x, LayerCarry& carry) const = 0;
};

// For layers that consist of a mixer only.
struct NoFeedForwardOptions {
  std::unique_ptr<const FeedForward> make(const Parameters& /*parameters*/) const {
    return nullptr;
  }
};

}  // namespace pippin::nn
