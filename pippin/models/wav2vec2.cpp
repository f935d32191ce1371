// wav2vec 2.0 (Baevski et al. 2020) with a CTC head: convolutions over the waveform, positions by a
// convolution, layers of a transformer. HuBERT and WavLM have its form.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

constexpr int64_t kMostStride = 1 << 10;

nn::WaveformFrontOptions read_waveform_front(const Config& config) {
  nn::WaveformFrontOptions front;
  front.channels = read_sizes(config, "conv_dim", {512, 512, 512, 512, 512, 512, 512}, 1, kMaxSize);
  front.sizes = read_sizes(config, "conv_kernel", {10, 3, 3, 3, 3, 2, 2}, 1, kMostTaps);
  front.strides = read_sizes(config, "conv_stride", {5, 2, 2, 2, 2, 2, 2}, 1, kMostStride);
  const auto check_count = [&](std::string_view key, size_t count) {
    if (count == front.channels.size()) return;
    config.invalid(key, fmt::format("{} numbers, conv_dim has {}", count, front.channels.size()));
  };
  check_count("conv_kernel", front.sizes.size());
  check_count("conv_stride", front.strides.size());
  int64_t stride = 1;
  for (const int64_t step : front.strides) {
    stride *= step;
    if (stride > kMaxSize) {
      config.invalid("conv_stride", fmt::format("their product is above {}", kMaxSize));
    }
  }
  front.bias = config.flag("conv_bias", false);
  front.activation = config.activation("feat_extract_activation", "gelu");
  const std::string norm = config.text("feat_extract_norm", "group");
  using ConvolutionNorm = nn::WaveformFrontOptions::ConvolutionNorm;
  if (norm != "group" && norm != "layer") {
    config.unsupported("feat_extract_norm",
                       fmt::format("'{}' is not supported (supported: group, layer)", norm));
  }
  front.convolution_norm = norm == "group" ? ConvolutionNorm::Group : ConvolutionNorm::Layer;
  return front;
}

nn::LayerOptions read_wav2vec2_layer(const Config& config, const nn::SpeechEncoderOptions& encoder,
                                     bool norm_first) {
  nn::LayerOptions layer;
  layer.form = norm_first ? nn::LayerOptions::Form::Serial : nn::LayerOptions::Form::NormAfter;
  layer.features = encoder.features;
  layer.norm = encoder.norm;
  layer.attention_norm = "layer_norm";
  layer.mlp_norm = "final_layer_norm";
  layer.attention_path = "attention";
  layer.mlp_path = "feed_forward";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = encoder.features;
  attention.num_heads = attention.num_kv_heads = config.size("num_attention_heads", 12, kMaxHeads);
  config.require_multiple("hidden_size", encoder.features, "num_attention_heads",
                          attention.num_heads);
  attention.head_dim = encoder.features / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = encoder.features;
  mlp.hidden_features = config.size("intermediate_size", 3072);
  mlp.activation = config.activation("hidden_act", "gelu");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "intermediate_dense";
  mlp.down = "output_dense";
  return layer;
}

// A small feed-forward of a language after each layer (MMS).
nn::LayerOptions language_adapter(const nn::SpeechEncoderOptions& encoder, int64_t width) {
  nn::LayerOptions adapter;
  adapter.features = encoder.features;
  adapter.norm = encoder.norm;
  adapter.norm.epsilon = 1e-5;
  adapter.attention_norm = "";
  adapter.mlp_norm = "norm";
  adapter.mlp_path = "";
  adapter.mixer = nn::NoMixerOptions{};
  nn::MLPOptions& mlp = adapter.mlp();
  mlp.features = encoder.features;
  mlp.hidden_features = width;
  mlp.activation = nn::Activation::Relu;
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "linear_1";
  mlp.down = "linear_2";
  return adapter;
}

std::vector<nn::LayerOptions> read_layers(const Config& config,
                                          const nn::SpeechEncoderOptions& encoder,
                                          bool norm_first) {
  const int64_t count = config.size("num_hidden_layers", 12, kMaxLayers);
  const auto width = config.find_size("adapter_attn_dim");
  std::vector<nn::LayerOptions> layers;
  layers.reserve(static_cast<size_t>(2 * count));
  nn::LayerOptions layer = read_wav2vec2_layer(config, encoder, norm_first);
  for (int64_t i = 0; i < count; ++i) {
    layer.path = std::to_string(i);
    layers.push_back(layer);
    // The class whose norms follow the sums has none.
    if (!width || !norm_first) continue;
    layers.push_back(language_adapter(encoder, *width));
    layers.back().path = layer.path + ".adapter_layer";
  }
  return layers;
}

}  // namespace

SpeechDescription wav2vec2_like(const Config& config, const std::string& base) {
  SpeechDescription model;
  model.base = base;
  read_ctc(config, 32, 0, model);
  model.unused = {"masked_spec_embed"};
  nn::SpeechEncoderOptions& encoder = model.encoder;
  encoder.features = config.size("hidden_size", 768);
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number("layer_norm_eps", 1e-5),
                  .bias = true};
  nn::WaveformFrontOptions front = read_waveform_front(config);
  front.norm = encoder.norm;
  nn::PositionalConvolutionOptions positions;
  positions.path = "encoder.pos_conv_embed";
  positions.features = encoder.features;
  positions.size = config.size("num_conv_pos_embeddings", 128, kMostTaps);
  positions.groups = config.size("num_conv_pos_embedding_groups", 16);
  config.require_multiple("hidden_size", encoder.features, "num_conv_pos_embedding_groups",
                          positions.groups);
  positions.activation = front.activation;
  encoder.positions = positions;
  encoder.front = std::move(front);
  const bool norm_first = config.flag("do_stable_layer_norm", false);
  (norm_first ? encoder.final_norm : encoder.first_norm) = "encoder.layer_norm";
  encoder.layers_path = "encoder.layers";
  encoder.layers = read_layers(config, encoder, norm_first);
  config.require_flag("add_adapter", false, false);
  return model;
}

SpeechDescription wav2vec2(const Config& config) {
  return wav2vec2_like(config, "wav2vec2");
}

}  // namespace pippin::models
