// Differential attention (Ye et al. 2024): heads in pairs, i and i + heads / 2, of which the second
// one's weights are subtracted from the first one's, times a learned factor; each pair mixes the
// concatenated values of both heads, and its result is normalized.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct DifferentialOptions {
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  double first = 0;  // the factor's initial value; the result is multiplied with 1 - first
  NormOptions norm;  // without weights
};

class Differential {
 public:
  // The factor is exp(lambda_q1 · lambda_k1) - exp(lambda_q2 · lambda_k2) + first.
  Differential(const Parameters& parameters, const DifferentialOptions& options);

  // Queries (1, heads, q, head_dim), keys and values (1, kv_heads, end, head_dim); the result is
  // (1, heads / 2, q, 2 * head_dim).
  array::Array operator()(const array::Array& queries, const array::Array& keys,
                          const array::Array& values, const array::Array& mask) const;

 private:
  array::Array spread(const array::Array& x) const;

  std::string path_;
  DifferentialOptions options_;
  array::Array factor_;
  Norm norm_;
};

}  // namespace pippin::nn
