// Parallel attention and state space in one layer (Falcon-H1, TII 2025): both see the same tokens,
// and their results are added.
#pragma once

#include <memory>
#include <string>

#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/recurrent/mamba2.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct AttentionWithMambaOptions {
  AttentionOptions attention;
  Mamba2Options mamba;
  std::string attention_path = "self_attn", mamba_path = "mamba";
  double attention_input_scale = 1.0, attention_output_scale = 1.0, mamba_output_scale = 1.0;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
