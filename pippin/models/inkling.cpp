// Inkling's text model (2026): causal convolutions of keys, values and block results, scores of
// distances in place of positions, and shared experts that the router weights too.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

std::vector<bool> inkling_windows(const Config& config, size_t count) {
  const auto ids = config.find("local_layer_ids");
  if (config.find("layer_types")) {
    return layer_kinds(config, "layer_types", count, "hybrid", "hybrid_sliding");
  }
  if (!ids) return sliding_pattern(count, 6);
  std::vector<bool> sliding(count);
  for (const int64_t id : ids->as_ints()) {
    if (id < 0 || id >= static_cast<int64_t>(count)) {
      config.invalid("local_layer_ids", fmt::format("{} is not one of {} layers", id, count));
    }
    sliding[static_cast<size_t>(id)] = true;
  }
  return sliding;
}

// Sliding layers have separate keys for the sizes of heads.
void size_sliding_heads(const Config& config, nn::AttentionOptions& attention) {
  attention.num_heads = config.size("swa_num_attention_heads", 64, kMaxHeads);
  attention.num_kv_heads = config.size("swa_num_key_value_heads", 16, kMaxHeads);
  attention.head_dim = config.size("swa_head_dim", 128, kMaxHeadDim);
  config.require_multiple("swa_num_attention_heads", attention.num_heads, "swa_num_key_value_heads",
                          attention.num_kv_heads);
}

void inkling_attention(const Config& config, nn::LayerOptions& layer, bool slides) {
  nn::AttentionOptions& attention = layer.attention();
  const int64_t window = config.size("sliding_window_size", 512, kMaxContext);
  const int64_t extent = config.size("rel_extent", 1024, kMaxContext);
  const auto floor = config.find_size("log_scaling_n_floor", kMaxContext);
  const double alpha = config.number("log_scaling_alpha", 0.1);
  if (slides) {
    size_sliding_heads(config, attention);
    attention.window = window;
  } else if (floor) {
    attention.temperature = nn::Temperature{static_cast<double>(*floor), alpha, 1, false};
  }
  attention.scale = 1 / static_cast<double>(attention.head_dim);
  attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  attention.bias = nn::RelativeScoresOptions{.features = layer.features,
                                             .num_heads = attention.num_heads,
                                             .profiles = config.size("d_rel", 16, kMaxHeadDim),
                                             .extent = slides ? window : extent,
                                             .temperature = attention.temperature};
  attention.convolution =
      nn::AttentionOptions::Convolution{{"k_sconv.conv1d", "v_sconv.conv1d"},
                                        layer.convolution_length,
                                        slides ? "slidingConvCache" : nn::kConvolutionState};
}

nn::ExpertsOptions inkling_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 256, .top_k = 6, .width = 3072});
  nn::RouterOptions& router = experts.router;
  router.scores = nn::RouterOptions::Scores::Sigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.normalized = true;
  router.scale = config.number("route_scale", 8.0);
  router.weight_scale = "gate.global_scale";
  router.always = config.size("n_shared_experts", 2, kMaxExperts);
  config.require_flag("shared_expert_sink", true, true);
  experts.always = experts.weights;
  experts.always->num_experts = router.always;
  experts.always->layout = nn::ExpertWeightsOptions::Layout::Apart;
  return experts;
}

}  // namespace

nn::DecoderOptions inkling_text(const Config& given) {
  // Published files have the width of dense feed-forwards under this name.
  constexpr std::string_view kDenseWidth = "dense_intermediate_size";
  Config config = given;
  config.alias("sliding_window_size", "sliding_window");
  config.alias("conv_kernel_size", "sconv_kernel_size");
  config.alias("max_position_embeddings", "model_max_length");
  nn::DecoderOptions model = plain_decoder(
      config, {.vocab_size = 201024,
               .hidden_size = 6144,
               .intermediate_size = 24576,
               .width_key = config.find(kDenseWidth) ? kDenseWidth : "intermediate_size",
               .num_layers = 66,
               .num_heads = 64,
               .num_kv_heads = 8,
               .head_dim = 128,
               .context = 131072});
  model.embedding_norm = "embed_norm";
  model.logit_scale = 1 / config.number("logits_mup_width_multiplier", 24.0);
  model.tied = false;  // whatever tie_word_embeddings says
  const int64_t padded = model.vocab_size;
  model.vocab_size = std::min(padded, config.size("unpadded_vocab_size", padded));
  model.embedding_rows = model.head_rows = padded;
  const size_t count = model.layers.size();
  const auto sliding = inkling_windows(config, count);
  const int64_t taps = convolution_length(config, "conv_kernel_size");
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.convolution_length = taps;
    layer.attention_convolution = "attn_sconv.conv1d";
    layer.mlp_convolution = "mlp_sconv.conv1d";
    inkling_attention(config, layer, sliding[i]);
    layer.mlp().result_scale = "global_scale";
  }
  const auto first = config.find("dense_mlp_idx");
  nn::ExpertsOptions experts = inkling_experts(config, model);
  use_experts_by_type(config, model, experts, first ? first->as_int(0, kMaxLayers) : 0);
  model.unused.emplace_back("mtp.");
  return model;
}

}  // namespace pippin::models
