// ERNIE 4.5 dense (Baidu): Llama with neighbouring pairs rotated and, if use_bias is set, biases.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions ernie4_5(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 103424,
                                                 .hidden_size = 1024,
                                                 .intermediate_size = 3072,
                                                 .num_layers = 18,
                                                 .num_heads = 16,
                                                 .num_kv_heads = 2,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 5e5,
                                                 .tied = true});
  const bool bias = config.flag("use_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().interleaved = true;
    layer.mlp().bias = bias;
  }
  return model;
}

// PaddleOCR-VL's language model, which rotates the halves of heads.
nn::DecoderOptions paddleocr_vl_text(const Config& config) {
  nn::DecoderOptions model = ernie4_5(config);
  for (nn::LayerOptions& layer : model.layers) layer.attention().interleaved = false;
  return model;
}

}  // namespace pippin::models
