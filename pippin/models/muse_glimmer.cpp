// Muse Glimmer's text model (Meta 2026): Gemma 2's four norms a layer, norms without weights on the
// embedding, queries and keys, a gate on attention's result, and layers without positions.
#include <cmath>
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

// Every fourth layer, counted from the last one, has no window and no positions.
std::vector<bool> muse_windows(size_t count) {
  std::vector<bool> slides(count);
  for (size_t i = 0; i < count; ++i) slides[i] = (count - 1 - i) % 4 != 0;
  return slides;
}

void remove_muse_positions(const Config& config, nn::DecoderOptions& model) {
  const size_t count = model.layers.size();
  const auto thetas = layer_thetas(config, count);
  const std::vector<bool> usual = muse_windows(count);
  // The bases other than 0 make no difference: all layers with positions have the model's rope.
  for (size_t i = 0; i < count; ++i) {
    const bool turns = thetas ? (*thetas)[i] != 0 : usual[i];
    if (!turns) model.layers[i].attention().rope.reset();
  }
}

}  // namespace

nn::DecoderOptions muse_glimmer_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 202048,
                                                 .hidden_size = 6656,
                                                 .intermediate_size = 19968,
                                                 .num_layers = 52,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 2,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .activation_key = "hidden_activation"});
  nn::NormOptions bare = model.norm;
  bare.weight = false;
  model.embedding_norm = "embed_norm";
  model.embedding_norm_form = bare;
  model.logit_scale = config.number("output_multiplier", 0.19611613513818404);
  model.logit_softcap = config.number("final_logit_softcapping", 20.0);
  const size_t count = model.layers.size();
  slide(model, sliding_layers(config, count).value_or(muse_windows(count)),
        window_size(config, 2048));
  remove_muse_positions(config, model);
  const double query_scale = config.number("qk_scale_factor", 3.87);
  const double epsilon = config.number("post_norm_eps", 1e-8);
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm.one_plus = true;
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.post_norm_epsilon = epsilon;
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = bare};
    attention.scale = query_scale / std::sqrt(static_cast<double>(attention.head_dim));
    attention.gate = nn::AttentionOptions::Gate{.path = "gate_proj"};
  }
  return model;
}

}  // namespace pippin::models
