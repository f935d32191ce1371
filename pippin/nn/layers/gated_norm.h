// A self-gated norm with a bottleneck (A.X K2): for the normalized y it returns y *
// sigmoid(W_up(silu(W_down(y)))). With a rank of 0 it is just the norm.
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
