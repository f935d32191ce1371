// EXAONE 4 (LG AI Research): norms after attention and feed-forward instead of before, norms on
// each head of q and k; if there is a window, only the sliding layers have positions.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

// "LLLG": L slides, G does not; or a number: every such layer does not. The last layer never does.
std::vector<bool> pattern_layers(const Config& config, size_t count) {
  std::vector<bool> sliding;
  const auto pattern = config.find("sliding_window_pattern");
  if (pattern && pattern->is_string()) {
    const std::string_view letters = pattern->as_string();
    if (letters.empty() || letters.find_first_not_of("LG") != letters.npos) {
      config.invalid("sliding_window_pattern", "not made of L and G");
    }
    for (size_t i = 0; i < count; ++i) {
      sliding.push_back(letters[i % letters.size()] == 'L' && i + 1 < count);
    }
    return sliding;
  }
  return sliding_pattern(count, pattern ? pattern->as_int(1) : 4);
}

}  // namespace

nn::DecoderOptions exaone4(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 102400,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 16384,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .context = 2048,
                                                 .epsilon = 1e-5});
  slide_exaone(config, model);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm.clear();
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm.clear();
    layer.mlp_post_norm = "post_feedforward_layernorm";
  }
  return model;
}

void slide_exaone(const Config& config, nn::DecoderOptions& model) {
  const size_t count = model.layers.size();
  const auto window = window_size(config, 4096);
  const auto listed = sliding_layers(config, count);
  const auto pattern = window && !listed ? pattern_layers(config, count) : std::vector<bool>(count);
  const std::vector<bool> sliding = listed.value_or(pattern);
  config.ignore({"sliding_window_pattern"});
  slide(model, sliding, window);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    if (window && !sliding[i]) layer.attention().rope.reset();
  }
}

}  // namespace pippin::models
