// MPT (MosaicML 2023): ALiBi, LayerNorms without bias, q, k and v in one matrix.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions mpt(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "d_model");
  config.alias("num_hidden_layers", "n_layers");
  config.alias("num_attention_heads", "n_heads");
  config.alias("max_position_embeddings", "max_seq_len");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50368,
                                                    .hidden_size = 2048,
                                                    .num_layers = 24,
                                                    .num_heads = 16,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation = "gelu",
                                                    .tied = true});
  config.require_absent("logit_scale");
  const Config attention_config(
      config.find("attn_config").value_or(Json::parse("{}", "attn_config")));
  attention_config.require_flag("alibi", true, true);
  attention_config.require_absent("qk_ln");
  attention_config.require_absent("prefix_lm");
  attention_config.require_absent("attn_uses_sequence_id");
  const auto clip = attention_config.find_number("clip_qkv");
  const auto scale = attention_config.find_number("softmax_scale");
  const double bias_max = attention_config.number("alibi_bias_max", 8);
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "blocks";
  model.final_norm = "norm_f";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.alibi = nn::AlibiOptions{
      .slopes = nn::mpt_alibi_slopes(model.layers[0].attention().num_heads, bias_max)};
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "norm_1";
    layer.mlp_norm = "norm_2";
    layer.attention_path = "attn";
    layer.mlp_path = "ffn";
    layer.attention().layout = nn::QkvLayout::Blocks;
    layer.attention().qkv = "Wqkv";
    layer.attention().output = "out_proj";
    layer.attention().clip = clip;
    layer.attention().scale = scale;
    // Hugging Face's class uses four times the width, regardless of expansion_ratio.
    layer.mlp().hidden_features = 4 * model.hidden_size;
    layer.mlp().gated = false;
  }
  return model;
}

}  // namespace pippin::models
