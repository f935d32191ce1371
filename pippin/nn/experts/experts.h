// A mixture of experts (Shazeer et al. 2017): a router (nn/experts/router.h) chooses some for each
// token, and the token's result is the sum of what those make of it, each times its weight.
//
// The program has two forms of it (docs/decisions/0025-experts-are-stacked.md). Where a function
// takes one token at a time, the chosen experts' matrices are gathered and multiplied: nothing else
// is read. Where it takes more, every expert meets every token, and the sum has weights that are 0
// for those not chosen; an engine that looks at the weights first computes what counts alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/nn/experts/expert_weights.h"
#include "pippin/nn/experts/router.h"
#include "pippin/nn/layers/feed_forward.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ExpertsOptions {
  RouterOptions router;
  ExpertWeightsOptions weights;
  std::string path = "experts";  // of the matrices
  Activation activation = Activation::Silu;
  // down(activation(gate) * up): gate is at most `limit`, up within [-limit, limit], and `up_shift`
  // is added to up.
  std::optional<double> limit;
  double up_shift = 0.0;
  NamedNorm input_norm;              // of what experts get, not the router; a path of the layer
  bool weights_scale_input = false;  // the weight multiplies what an expert gets, not its result
  // Experts get a narrower vector that a linear layer makes of the input, and another makes the
  // sum as wide as it was; empty names: they get the input.
  std::string into_latent, out_of_latent;
  bool latent_bias = false;
  // The router's last experts, which have no matrices: they return what they get.
  int64_t identity_experts = 0;
  double result_scale = 1.0;  // of the whole sum
  // An expert for every token, times the sigmoid of a linear layer of one output if that has a
  // name.
  std::optional<MLPOptions> shared;
  std::string shared_path = "shared_expert", shared_gate;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
