// SmolLM3 (Hugging Face): Llama without positions in some layers (no_rope_layers, where 1 means
// that the layer does have them).
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions smollm3(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128256,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 36,
                                                 .num_heads = 16,
                                                 .num_kv_heads = 4,
                                                 .context = 32768,
                                                 .rope_theta = 2e6,
                                                 .tied = true});
  const size_t count = model.layers.size();
  const int64_t interval = config.size("no_rope_layer_interval", 4);
  std::vector<bool> ropes = sliding_pattern(count, interval);
  if (const auto list = config.find("no_rope_layers")) {
    const std::vector<int64_t> flags = list->as_ints();
    if (flags.size() != count) {
      config.invalid("no_rope_layers", fmt::format("{} for {} layers", flags.size(), count));
    }
    for (size_t i = 0; i < count; ++i) ropes[i] = flags[i] != 0;
  }
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    if (!ropes[i]) layer.attention().rope.reset();
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
  }
  // If any layers slide, those without positions do.
  ropes.flip();
  const auto sliding = sliding_layers(config, count).value_or(ropes);
  const auto window = window_size(config, std::nullopt);
  if (config.flag("use_sliding_window", false)) slide(model, sliding, window);
  return model;
}

}  // namespace pippin::models
