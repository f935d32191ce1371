// Weights of products as views, in the types of the kernels.
#pragma once

#include "pippin/engine/nodes/view.h"
#include "pippin/kernels/dot/args.h"

namespace pippin::engine {

// For F32, F16, BF16.
constexpr kernels::WeightType weight_type(Storage storage) {
  return storage == Storage::F16    ? kernels::WeightType::F16
         : storage == Storage::BF16 ? kernels::WeightType::BF16
                                    : kernels::WeightType::F32;
}

}  // namespace pippin::engine
