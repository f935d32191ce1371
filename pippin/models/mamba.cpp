// Mamba (Gu and Dao 2023): layers that consist of a selective state space only. Falcon Mamba (TII
// 2024): the same with norms without weights on step, keys and queries.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

nn::DecoderOptions mamba_like(const Config& config, std::optional<nn::NormOptions> norm) {
  nn::DecoderOptions model = state_space_decoder(
      config, {.vocab_size = 50280, .hidden_size = 768, .num_layers = 32, .tied = true});
  nn::MambaOptions mamba;
  mamba.features = model.hidden_size;
  const double expand = config.number("expand", 2.0);
  mamba.inner =
      config.size("intermediate_size", expanded(config, "expand", model.hidden_size, expand));
  mamba.state_size = config.size("state_size", 16);
  const int64_t automatic = (model.hidden_size + 15) / 16;
  mamba.step_rank = size_or_auto(config, "time_step_rank", automatic);
  mamba.kernel = convolution_length(config, "conv_kernel");
  mamba.bias = config.flag("use_bias", false);
  mamba.convolution_bias = config.flag("use_conv_bias", true);
  mamba.norm = norm;
  for (nn::LayerOptions& layer : model.layers) layer.mixer = mamba;
  return model;
}

}  // namespace

nn::DecoderOptions mamba(const Config& config) {
  return mamba_like(config, std::nullopt);
}

nn::DecoderOptions falcon_mamba(const Config& config) {
  nn::NormOptions norm;
  norm.epsilon = config.number("mixer_rms_eps", 1e-6);
  norm.weight = false;
  return mamba_like(config, norm);
}

}  // namespace pippin::models
