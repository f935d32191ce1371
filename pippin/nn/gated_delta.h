// The gated delta rule of Qwen3-Next (Yang et al. 2024, "gated delta networks"): a recurrence whose
// state maps keys to values. What a token adds for its key is what the state lacks of its value.
//
// "in_proj_qkvz" and "in_proj_ba" have, for each head of keys, the rows of its query, key, values
// and gates z, and of its rates and steps. Queries, keys and values go through one causal
// convolution and silu; queries and keys are made to have length 1. The results are normed head by
// head, times silu(z), through "out_proj".
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/mixer.h"
#include "pippin/nn/norm.h"
#include "pippin/nn/parameters.h"

namespace pippin::nn {

struct GatedDeltaOptions {
  int64_t features = 0;
  int64_t key_heads = 0, key_dim = 0;      // of queries and keys
  int64_t value_heads = 0, value_dim = 0;  // a multiple of key_heads
  int64_t kernel = 4;                      // taps of the convolution
  NormOptions norm;                        // "norm", of each head of values

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
