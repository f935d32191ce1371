// A mixture of experts (Shazeer et al. 2017): a router (nn/experts/router.h) chooses some experts
// for each token, and the token's result is the sum of their results, each times its weight.
//
// The program has two forms of it (docs/decisions/0025-experts-are-stacked.md). If a function takes
// one token at a time, the chosen experts' matrices are gathered and multiplied: no others are
// read. If it takes more, every expert processes every token, and the sum has weights of 0 for
// those not chosen; an engine that inspects the weights first computes only the nonzero terms.
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
  bool activates_first = false;  // the gate's limit is that of activation(gate)
  double up_shift = 0.0;
  NamedNorm input_norm;              // of the experts' input, not the router's; a path of the layer
  bool weights_scale_input = false;  // the weight multiplies an expert's input, not its result
  // Experts work on a narrower vector: a linear layer narrows the input, and another one widens the
  // sum; empty names: they get the input itself.
  std::string into_latent, out_of_latent;
  bool latent_bias = false;
  // The router's last experts, which have no matrices: they return their input.
  int64_t identity_experts = 0;
  bool identities_are_zero = false;  // they return nothing instead
  std::string result_bias;           // a tensor that is added to the sum; an empty name: none
  // Experts for every token, with the weights that the router has for them (RouterOptions::always).
  std::optional<ExpertWeightsOptions> always;
  std::string always_path = "shared_experts";
  double result_scale = 1.0;  // of the whole sum
  // An expert for every token, multiplied by the sigmoid of a linear layer with one output if that
  // has a name.
  std::optional<MLPOptions> shared;
  std::string shared_path = "shared_expert", shared_gate;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
