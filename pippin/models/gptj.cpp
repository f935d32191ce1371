// GPT-J (EleutherAI 2021): neighbouring pairs of the first rotary_dim dimensions are rotated; one
// LayerNorm before attention and feed-forward, which run in parallel; a head with a bias.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions gptj(const Config& given) {
  Config config = given;
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 50400,
                                                .hidden_size = 4096,
                                                .num_layers = 28,
                                                .num_heads = 16,
                                                .context = 2048,
                                                .activation = "gelu_new"});
  model.head_bias = true;
  const int64_t head_dim = model.layers[0].attention().head_dim;
  const int64_t dims = config.size("rotary_dim", 64, kMaxHeadDim);
  if (dims > head_dim || dims % 2 != 0) {
    config.invalid("rotary_dim", "odd, or more than a head has");
  }
  model.ropes.push_back({.dims = dims});
  for (nn::LayerOptions& layer : model.layers) {
    layer.form = nn::LayerOptions::Form::Parallel;
    layer.mlp_norm.clear();
    layer.attention().qkv.clear();
    layer.attention().qkv_bias = layer.attention().output_bias = false;
    layer.attention().output = "out_proj";
    layer.attention().rope = 0;
    layer.attention().rope_dims = dims;
    layer.attention().interleaved = true;
    layer.mlp().up = "fc_in";
    layer.mlp().down = "fc_out";
  }
  return model;
}

// CodeGen (Salesforce 2022): GPT-J with one matrix for q, v and k.
nn::DecoderOptions codegen(const Config& config) {
  nn::DecoderOptions model = gptj(config);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    config.require_multiple("n_head", attention.num_heads, "4", 4);
    attention.layout = nn::QkvLayout::Quarters;
    attention.qkv = "qkv_proj";
  }
  return model;
}

}  // namespace pippin::models
