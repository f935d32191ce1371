// JetMoE's attention (Shen et al. 2024): pairs of a query's and an output's matrix are experts, of
// which each token has some; all of them meet the same keys and values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pippin/nn/experts/router.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ExpertAttentionOptions {
  int64_t features = 0;
  int64_t kv_heads = 0, head_dim = 0;  // an expert has as many heads of queries
  RouterOptions router;                // its path lies below "experts", as the others do
  std::optional<size_t> rope;          // which of the model's ropes

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
