// MiMo-V2-Flash (Xiaomi 2025): values narrower than keys, sliding layers with sinks and twice as
// many key heads, DeepSeek-V3's experts without a shared one.

#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions mimo_v2_flash(const Config& given) {
  const Config config = given.with_default_rope(
      R"({"full_attention": {"rope_theta": 5000000.0, "partial_rotary_factor": 0.334},
          "sliding_attention": {"rope_theta": 10000.0, "partial_rotary_factor": 0.334}})");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 152576,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 16384,
                                                    .num_layers = 48,
                                                    .num_heads = 64,
                                                    .num_kv_heads = 4,
                                                    .head_dim = 192,
                                                    .context = 131072,
                                                    .epsilon = 1e-5});
  const size_t count = model.layers.size();
  std::vector<bool> slides(count);
  for (size_t i = 1; i < count; ++i) slides[i] = (i + 1) % 6 != 0;
  const auto sliding = sliding_layers(config, count).value_or(slides);
  slide(model, sliding, window_size(config, 128));
  add_ropes_by_kind(config, model, sliding, {.theta = 5e6, .rotary_factor = 0.334},
                    {.rotary_factor = 0.334});
  const bool bias = config.flag("attention_bias", false);
  const int64_t value_dim = config.size("v_head_dim", 128, kMaxHeadDim);
  const bool scaled =
      config.find("attention_value_scale") || !config.contains("attention_value_scale");
  const double scale = scaled ? config.number("attention_value_scale", 0.707) : 1.0;
  for (size_t i = 0; i < count; ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    attention.qkv_bias = bias;
    attention.value_dim = value_dim;
    attention.value_scale = scale;
    if (!sliding[i]) continue;
    attention.num_kv_heads *= 2;
    config.require_multiple("num_attention_heads", attention.num_heads, "2 * num_key_value_heads",
                            attention.num_kv_heads);
    attention.sinks = true;
    attention.sinks_name = "attention_sink_bias";
  }
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 256, .top_k = 8, .width = 2048});
  use_corrected_sigmoid(config, experts, true);
  use_experts_by_type(config, model, experts, 1);
  skip_prediction_modules(config, model, "num_nextn_predict_layers", "model.mtp.");
  return model;
}

}  // namespace pippin::models
