// The network before the linear layer of ZAYA's routers: a narrow vector of the token, to which the
// previous layer's vector is added, then a norm and two layers.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/array/array.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RouterMlpOptions {
  int64_t hidden = 0;
  NormOptions norm;
  bool adds_earlier = false;  // of all routers but the first
};

class RouterMlp {
 public:
  // Names are those of the block's "gate".
  RouterMlp(const Parameters& parameters, int64_t features, const RouterMlpOptions& options);

  // (1, q, hidden) of (1, q, features); passes its vector to the next router.
  array::Array operator()(const array::Array& x, LayerCarry& carry) const;

 private:
  Linear narrow_;
  Norm norm_;
  Linear first_, second_;
  std::optional<array::Array> earlier_scale_;
};

}  // namespace pippin::nn
