// Mistral (Jiang et al. 2023) and Mistral Nemo: Llama with a window over the last keys in every
// layer, unless sliding_window is null.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions mistral(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 131072});
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(std::vector<bool>(count, true));
  slide(model, sliding, window_size(config, 4096));
  return model;
}

}  // namespace pippin::models
