// The gated delta rule of Qwen3-Next (Yang et al. 2024, "gated delta networks"): a recurrence whose
// state maps keys to values. A token adds, for its key, the difference between its value and the
// state's value.
//
// Queries, keys and values pass through one causal convolution and silu; queries and keys are
// normalized to length 1. The results are normalized head by head, multiplied by silu of the gates
// z, and go through the output projection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct GatedDeltaOptions {
  // The layout of the matrices of queries q, keys k, values v, gates z, rates b and steps a in the
  // checkpoint:
  enum class Layout {
    ByHead,    // "in_proj_qkvz" and "in_proj_ba": for each key head its own rows
    Joined,    // "in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"
    Halfway,   // "in_proj_qkv", "in_proj_z", and "in_proj_ba" by head
    Separate,  // "q_proj", "k_proj", "v_proj", "g_proj", "b_proj", "a_proj", with convolutions of
               // their own, "q_conv1d", "k_conv1d", "v_conv1d", whose rows are joined in this order
  };
  Layout layout = Layout::ByHead;
  int64_t features = 0;
  int64_t key_heads = 0, key_dim = 0;      // of queries and keys
  int64_t value_heads = 0, value_dim = 0;  // a multiple of key_heads
  // The value heads of a key head are key_heads apart, instead of next to each other.
  bool tiled = false;
  // The value heads are in another order in the other form of the checkpoint, Hugging Face's or
  // GGUF.
  bool reordered = false;
  int64_t kernel = 4;       // taps of the convolution
  double rate_scale = 1.0;  // of the rates' sigmoid: 2 lets the state change signs
  NormOptions norm;         // of each head of values
  std::string norm_name = "norm", output = "out_proj";

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
