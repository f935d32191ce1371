// A dense network and a mixture of experts with the same input, each with separate norms before and
// after it, whose results are added (Gemma 4).
#pragma once

#include <memory>

#include "pippin/nn/experts/experts.h"
#include "pippin/nn/layers/feed_forward.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Names of norms and paths are those of the layer, whose input comes without a norm.
struct MlpWithExpertsOptions {
  MLPOptions mlp;
  ExpertsOptions experts;  // with the norm of their input
  std::string mlp_path = "mlp";
  NamedNorm mlp_norm, mlp_post_norm, experts_post_norm;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
