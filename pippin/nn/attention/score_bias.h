// Biases of attention scores that a layer computes from its tokens, in addition to the mask.
#pragma once

#include <memory>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class ScoreBias {
 public:
  virtual ~ScoreBias() = default;
  // Returns the mask plus the bias, (1, 1 or heads, q, end). `values` are those that queries see,
  // (1, kv_heads, end, value_size).
  virtual array::Array operator()(const array::Array& x, const array::Array& values,
                                  const MixerInput& input) const = 0;
};

struct NoScoreBiasOptions {
  std::unique_ptr<const ScoreBias> make(const Parameters& /*parameters*/) const { return nullptr; }
};

}  // namespace pippin::nn
