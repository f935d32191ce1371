// Manifold-constrained hyper-connections (Xie et al. 2026): the residual is several streams, (1, q,
// streams, features), which each token's weights sum to a block's input. The block's result is
// distributed to the streams, and a matrix whose rows and columns add up to 1 mixes them.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct HyperOptions {
  int64_t features = 0;
  int64_t streams = 0;
  int64_t iterations = 20;  // alternating rows and columns (Sinkhorn and Knopp)
  double epsilon = 1e-6;    // added to weights and sums
  NormOptions norm;         // of all streams of a token; without weights
};

// The connection around one block; its tensors are NAME_fn, NAME_base, NAME_scale.
class HyperConnection {
 public:
  HyperConnection(const Parameters& parameters, const std::string& name,
                  const HyperOptions& options);

  struct Weights {
    array::Array collapsed;      // (1, q, features): what the block gets
    array::Array placed, mixed;  // (1, q, streams, 1) and (1, q, streams, streams), fp32
  };
  Weights operator()(const array::Array& streams) const;
  // The streams after the block returned `result`.
  array::Array after(const Weights& weights, const array::Array& streams,
                     const array::Array& result) const;

 private:
  std::string path_;
  HyperOptions options_;
  Norm norm_;
  array::Array matrix_, base_, scales_;
};

// The model's parts before and after its layers: "hc_head_fn", "hc_head_base", "hc_head_scale".
class HyperStreams {
 public:
  HyperStreams(const Parameters& root, const HyperOptions& options);

  array::Array spread(const array::Array& x) const;
  array::Array merge(const array::Array& streams) const;

 private:
  std::string path_;
  HyperOptions options_;
  Norm norm_;
  array::Array matrix_, base_, scale_;
};

}  // namespace pippin::nn
