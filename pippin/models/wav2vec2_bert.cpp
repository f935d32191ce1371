// w2v-BERT 2.0 (SeamlessM4T) with a CTC head: a conformer over pairs of rows of a log mel
// spectrogram, whose convolutions are causal and whose scores have a term for distances.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

nn::MLPOptions read_feed_forward(const Config& config, int64_t features) {
  nn::MLPOptions mlp;
  mlp.features = features;
  mlp.hidden_features = config.size("intermediate_size", 4096);
  mlp.activation = config.activation("hidden_act", "swish");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "intermediate_dense";
  mlp.down = "output_dense";
  return mlp;
}

int64_t read_heads(const Config& config, std::string_view width_key, int64_t width) {
  const int64_t heads = config.size("num_attention_heads", 16, kMaxHeads);
  config.require_multiple(width_key, width, "num_attention_heads", heads);
  return heads;
}

nn::FrameAdapterOptions read_adapter(const Config& config,
                                     const nn::SpeechEncoderOptions& encoder) {
  constexpr int64_t kMostAdapters = 8, kMostStep = 16;
  nn::FrameAdapterOptions adapter;
  adapter.in_features = encoder.features;
  adapter.features = config.size("output_hidden_size", encoder.features);
  adapter.layers = config.size("num_adapter_layers", 1, kMostAdapters);
  adapter.size = config.size("adapter_kernel_size", 3, kMostTaps);
  adapter.step = config.size("adapter_stride", 2, kMostStep);
  adapter.norm = encoder.norm;
  adapter.feed_forward = read_feed_forward(config, adapter.features);
  adapter.feed_forward.activation = config.activation("adapter_act", "relu");
  nn::AttentionOptions& attention = adapter.attention;
  attention.features = adapter.features;
  attention.num_heads = attention.num_kv_heads =
      read_heads(config, "output_hidden_size", adapter.features);
  attention.head_dim = adapter.features / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.query = "linear_q";
  attention.key = "linear_k";
  attention.value = "linear_v";
  attention.output = "linear_out";
  return adapter;
}

nn::ConformerLayerOptions read_bert_layer(const Config& config,
                                          const nn::SpeechEncoderOptions& encoder) {
  nn::ConformerLayerOptions layer =
      nemo_layer(config, encoder.features, config.size("intermediate_size", 4096));
  layer.norm = encoder.norm;
  layer.feed_forward = read_feed_forward(config, encoder.features);
  layer.first_feed_forward = "ffn1";
  layer.second_feed_forward = "ffn2";
  layer.first_norm = "ffn1_layer_norm";
  layer.second_norm = "ffn2_layer_norm";
  layer.attention_norm = "self_attn_layer_norm";
  layer.convolution_norm = "";
  layer.last_norm = "final_layer_norm";
  layer.convolution_path = "conv_module";
  layer.convolution.size = config.size("conv_depthwise_kernel_size", 31, kMostTaps);
  layer.convolution.causal = true;
  layer.convolution.bias = false;
  layer.convolution.input_norm = {"layer_norm", encoder.norm};
  layer.convolution.layer_norm = {"depthwise_layer_norm", encoder.norm};
  nn::RelativeAttentionOptions attention;
  attention.features = encoder.features;
  attention.num_heads = read_heads(config, "hidden_size", encoder.features);
  attention.head_dim = encoder.features / attention.num_heads;
  attention.query = "linear_q";
  attention.key = "linear_k";
  attention.value = "linear_v";
  attention.output = "linear_out";
  attention.table = "distance_embedding";
  attention.before = config.size("left_max_position_embeddings", 64, kMaxContext);
  attention.after = config.size("right_max_position_embeddings", 8, kMaxContext);
  layer.attention = std::move(attention);
  return layer;
}

}  // namespace

SpeechDescription wav2vec2_bert(const Config& config) {
  SpeechDescription model;
  model.base = "wav2vec2_bert";
  model.unused = {"masked_spec_embed"};
  read_ctc(config, 32, 0, model);
  nn::SpeechEncoderOptions& encoder = model.encoder;
  encoder.features = config.size("hidden_size", 1024);
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number("layer_norm_eps", 1e-5),
                  .bias = true};
  encoder.front = nn::ProjectionFrontOptions{
      .bins = config.size("feature_projection_input_dim", 160, kMostBins), .norm = encoder.norm};
  const std::string positions = config.text("position_embeddings_type", "relative_key");
  if (positions != "relative_key") {
    config.unsupported("position_embeddings_type",
                       fmt::format("'{}' is not supported (supported: relative_key)", positions));
  }
  encoder.layers_path = "encoder.layers";
  const int64_t count = config.size("num_hidden_layers", 24, kMaxLayers);
  encoder.layers = std::vector<nn::ConformerLayerOptions>(static_cast<size_t>(count),
                                                          read_bert_layer(config, encoder));
  if (config.flag("use_intermediate_ffn_before_adapter", false)) {
    encoder.last_feed_forward = read_feed_forward(config, encoder.features);
    encoder.last_feed_forward->activation = nn::Activation::Relu;
    encoder.last_feed_forward_path = "intermediate_ffn";
  }
  if (config.flag("add_adapter", false)) encoder.adapter = read_adapter(config, encoder);
  return model;
}

}  // namespace pippin::models
