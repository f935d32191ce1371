// A dense network and a mixture of experts that get the same input, each with norms of its own
// before and after it, whose results are added (Gemma 4).
#pragma once

#include <memory>

#include "pippin/nn/experts/experts.h"
#include "pippin/nn/layers/feed_forward.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Names of norms and paths are those of the layer, which gives what it has before any norm.
struct MlpBesideExpertsOptions {
  MLPOptions mlp;
  ExpertsOptions experts;  // with the norm of their input
  std::string mlp_path = "mlp";
  NamedNorm mlp_norm, mlp_post_norm, experts_post_norm;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
