// The gated delta rule of Qwen3-Next (Yang et al. 2024, "gated delta networks"): a recurrence whose
// state maps keys to values. What a token adds for its key is what the state lacks of its value.
//
// Queries, keys and values go through one causal convolution and silu; queries and keys are made to
// have length 1. The results are normed head by head, times silu of the gates z, through the
// output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct GatedDeltaOptions {
  // Where the checkpoint has the matrices of queries q, keys k, values v, gates z, rates b and
  // steps a:
  enum class Layout {
    ByHead,    // "in_proj_qkvz" and "in_proj_ba": for each head of keys the rows of its own
    Joined,    // "in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"
    Separate,  // "q_proj", "k_proj", "v_proj", "g_proj", "b_proj", "a_proj", with convolutions of
               // their own, "q_conv1d", "k_conv1d", "v_conv1d", whose rows are joined in this order
  };
  Layout layout = Layout::ByHead;
  int64_t features = 0;
  int64_t key_heads = 0, key_dim = 0;      // of queries and keys
  int64_t value_heads = 0, value_dim = 0;  // a multiple of key_heads
  int64_t kernel = 4;                      // taps of the convolution
  double rate_scale = 1.0;                 // of the rates' sigmoid: 2 lets the state change signs
  NormOptions norm;                        // of each head of values
  std::string norm_name = "norm", output = "out_proj";

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
