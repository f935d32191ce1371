// A mixture of experts (Shazeer et al. 2017): a router gives each token weights over the experts,
// the `top_k` largest count, and the token's result is the weighted sum of what those make of it.
//
// The program computes every expert for every token and multiplies by a weight that is zero for
// those not chosen: right, and as slow as a dense layer of all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/nn/feed_forward.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/parameters.h"

namespace pippin::nn {

struct ExpertsOptions {
  int64_t num_experts = 0;
  int64_t top_k = 0;
  bool normalized = true;  // the chosen weights are made to have the sum 1
  std::string router = "gate", experts = "experts";
  MLPOptions expert;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
