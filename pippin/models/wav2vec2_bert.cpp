// w2v-BERT 2.0 (SeamlessM4T) with a CTC head: a conformer over pairs of rows of a log mel
// spectrogram, whose convolutions are causal and whose scores have a term for distances.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

nn::ConformerLayerOptions read_bert_layer(const Config& config,
                                          const nn::SpeechEncoderOptions& encoder) {
  nn::ConformerLayerOptions layer =
      nemo_layer(config, encoder.features, config.size("intermediate_size", 4096));
  layer.norm = encoder.norm;
  layer.feed_forward.bias = true;
  layer.feed_forward.up = "intermediate_dense";
  layer.feed_forward.down = "output_dense";
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
  attention.num_heads = config.size("num_attention_heads", 16, kMaxHeads);
  config.require_multiple("hidden_size", encoder.features, "num_attention_heads",
                          attention.num_heads);
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
  config.require_flag("add_adapter", false, false);
  config.require_flag("use_intermediate_ffn_before_adapter", false, false);
  return model;
}

}  // namespace pippin::models
