// A norm whose result is gated by itself, through a bottleneck (A.X K2): of the normed y it gives
// y * sigmoid(W_up(silu(W_down(y)))). With a rank of 0 it is the norm alone.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class GatedNorm {
 public:
  GatedNorm(const Parameters& parameters, int64_t features, const NormOptions& options,
            int64_t rank);

  array::Array operator()(const array::Array& x) const;

 private:
  Norm norm_;
  std::optional<Linear> down_, up_;
};

}  // namespace pippin::nn
