// Mellum 2 (JetBrains 2026): Qwen3's experts, and windows with a separate rope.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions mellum(const Config& given) {
  Config config = given;
  config.alias("num_experts", "num_local_experts");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 98304,
                                                    .hidden_size = 2304,
                                                    .intermediate_size = 7168,
                                                    .num_layers = 28,
                                                    .num_heads = 32,
                                                    .num_kv_heads = 4,
                                                    .head_dim = 128,
                                                    .context = 131072});
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(std::vector<bool>(count));
  slide(model, sliding, window_size(config, 1024));
  add_ropes_by_kind(config, model, sliding, {.theta = 5e5}, {});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  }
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 64, .top_k = 8, .width = 896});
  experts.router.normalized = config.flag("norm_topk_prob", true);
  use_experts_by_type(config, model, experts, 0);
  return model;
}

}  // namespace pippin::models
