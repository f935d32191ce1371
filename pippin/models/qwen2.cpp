// Qwen2 and Qwen2.5, DeepSeek-R1-Distill-Qwen: Llama with biases on q, k and v, and windows in the
// layers from max_window_layers on if use_sliding_window is set.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

void slide_qwen(const Config& config, nn::DecoderOptions& model) {
  const size_t count = model.layers.size();
  const auto window = window_size(config, 4096);
  const auto first = config.find("max_window_layers");
  const int64_t full_layers = first ? first->as_int(0) : 28;
  const bool slides = config.flag("use_sliding_window", false);
  std::vector<bool> sliding;
  for (size_t i = 0; i < count; ++i) sliding.push_back(static_cast<int64_t>(i) >= full_layers);
  sliding = sliding_layers(config, count).value_or(sliding);
  if (slides) slide(model, sliding, window);
}

nn::DecoderOptions qwen2(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151936,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 22016,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .context = 32768});
  for (nn::LayerOptions& layer : model.layers) layer.attention().qkv_bias = true;
  slide_qwen(config, model);
  return model;
}

}  // namespace pippin::models
