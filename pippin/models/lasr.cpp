// LASR (Google's MedASR) with a CTC head: a conformer over a log mel spectrogram, with rotary
// positions and weights of its residuals.
#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

nn::ConformerLayerOptions::Sum read_sum(const Config& encoder, std::string_view key, double carry,
                                        double scale) {
  const auto given = encoder.find(key);
  if (!given) return {carry, scale};
  const std::vector<double> both = given->as_floats();
  if (both.size() != 2) encoder.invalid(key, fmt::format("{} numbers, 2 are needed", both.size()));
  return {both[0], both[1]};
}

}  // namespace

SpeechDescription lasr_ctc(const Config& config) {
  SpeechDescription model;
  read_ctc(config, 512, 0, model);
  model.head = "ctc_head";
  model.head_is_convolution = true;
  const Config encoder = part_of(config, "encoder_config");
  model.base = "encoder";
  nn::SpeechEncoderOptions& options = model.encoder;
  options.features = encoder.size("hidden_size", 512);
  options.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = encoder.number("layer_norm_eps", 1e-6)};
  options.final_norm = "out_norm";
  nn::RowsFrontOptions front;
  front.bins = encoder.size("num_mel_bins", 128, kMostBins);
  front.channels = encoder.size("subsampling_conv_channels", 256);
  front.size = encoder.size("subsampling_conv_kernel_size", 5, kMostTaps);
  front.step = encoder.size("subsampling_conv_stride", 2, kMostTaps);
  options.front = front;
  model.max_frames = encoder.size("max_position_embeddings", 10000, kMaxContext);
  nn::ConformerLayerOptions layer =
      nemo_layer(encoder, options.features, encoder.size("intermediate_size", 2048));
  layer.norm = options.norm;
  layer.feed_forward_sum = read_sum(encoder, "feed_forward_residual_weights", 1.5, 0.5);
  layer.convolution_sum = read_sum(encoder, "conv_residual_weights", 2.0, 1.0);
  nn::AttentionOptions attention;
  attention.features = options.features;
  attention.num_heads = encoder.size("num_attention_heads", 8, kMaxHeads);
  attention.num_kv_heads = encoder.size("num_key_value_heads", attention.num_heads, kMaxHeads);
  encoder.require_multiple("num_attention_heads", attention.num_heads, "num_key_value_heads",
                           attention.num_kv_heads);
  encoder.require_multiple("hidden_size", options.features, "num_attention_heads",
                           attention.num_heads);
  attention.head_dim = attention.rope_dims = options.features / attention.num_heads;
  if (attention.head_dim % 2 != 0) {
    encoder.invalid("hidden_size", fmt::format("{} makes heads of {} numbers, which rotary "
                                               "positions cannot pair",
                                               options.features, attention.head_dim));
  }
  attention.qkv_bias = attention.output_bias = layer.feed_forward.bias =
      encoder.flag("attention_bias", false);
  attention.rope = 0;
  options.ropes.push_back(rope_options(encoder, attention.rope_dims, {.theta = 10000.0}));
  layer.attention = attention;
  layer.convolution.size = encoder.size("conv_kernel_size", 32, kMostTaps);
  layer.convolution.bias = encoder.flag("convolution_bias", false);
  const int64_t count = encoder.size("num_hidden_layers", 17, kMaxLayers);
  options.layers = std::vector<nn::ConformerLayerOptions>(static_cast<size_t>(count), layer);
  encoder.refuse_unread();
  return model;
}

}  // namespace pippin::models
