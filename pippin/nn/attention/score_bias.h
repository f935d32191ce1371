// Added to the scores of attention besides the mask, where a layer computes it from its tokens.
#pragma once

#include <memory>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class ScoreBias {
 public:
  virtual ~ScoreBias() = default;
  // The mask with it, (1, 1 or heads, q, end). `values` are all that queries see, (1, kv_heads,
  // end, value_size).
  virtual array::Array operator()(const array::Array& x, const array::Array& values,
                                  const MixerInput& input) const = 0;
};

struct NoScoreBiasOptions {
  std::unique_ptr<const ScoreBias> make(const Parameters& /*parameters*/) const { return nullptr; }
};

}  // namespace pippin::nn
