#include "pippin/nn/layers/gated_norm.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

GatedNorm::GatedNorm(const Parameters& parameters, int64_t features, const NormOptions& options,
                     int64_t rank)
    : norm_(rank > 0 ? parameters.at("norm") : parameters, features, options) {
  if (rank == 0) return;
  down_.emplace(parameters.at("W_down"), features, rank);
  up_.emplace(parameters.at("W_up"), rank, features);
}

Array GatedNorm::operator()(const Array& x) const {
  const Array y = norm_(x);
  return down_ ? y * array::sigmoid((*up_)(array::silu((*down_)(y)))) : y;
}

}  // namespace pippin::nn
