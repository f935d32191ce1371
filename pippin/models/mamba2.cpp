// Mamba 2 (Dao and Gu 2024): layers that consist of a state space with heads only.
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {

nn::DecoderOptions mamba2(const Config& config) {
  nn::DecoderOptions model =
      state_space_decoder(config, {.vocab_size = 32768, .hidden_size = 4096, .num_layers = 64});
  nn::Mamba2Options mamba;
  mamba.features = model.hidden_size;
  mamba.heads = config.size("num_heads", 128, kMaxHeads);
  mamba.head_dim = config.size("head_dim", 64, kMaxHeadDim);
  mamba.groups = config.size("n_groups", 8, kMaxHeads);
  mamba.state_size = config.size("state_size", 128);
  mamba.kernel = convolution_length(config, "conv_kernel");
  mamba.bias = mamba.output_bias = config.flag("use_bias", false);
  mamba.convolution_bias = config.flag("use_conv_bias", true);
  mamba.norm = model.norm;
  limit_steps(config, mamba);
  config.require_multiple("num_heads", mamba.heads, "n_groups", mamba.groups);
  const double expand = config.number("expand", 2.0);
  const int64_t inner = expanded(config, "expand", model.hidden_size, expand);
  if (inner != mamba.inner()) {
    config.invalid("num_heads", fmt::format("{} heads of {} are not expand * hidden_size = {}",
                                            mamba.heads, mamba.head_dim, inner));
  }
  for (nn::LayerOptions& layer : model.layers) layer.mixer = mamba;
  return model;
}

}  // namespace pippin::models
