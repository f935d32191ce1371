// JetMoE's attention (Shen et al. 2024): an expert is a pair of a query and an output matrix. Each
// token uses some experts, with the same keys and values.
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
  RouterOptions router;                // its path is below "experts", like the others
  std::optional<size_t> rope;          // index of the model's rope

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
