// Moonshine (Jeffries et al. 2024): an encoder over the samples of a recording, of any length, and
// a decoder with a gated feed-forward, both with ropes over the larger part of each head. The
// streaming models (2026) have another encoder: frames of 5 ms, causal convolutions, and windows in
// place of positions, which the decoder adds.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {
namespace {

// A recording has up to 64 seconds at 16 kHz.
constexpr int64_t kMostSamples = 64 * 16000;

// Sizes of the encoder or the decoder.
struct HalfSizes {
  int64_t width = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, mlp = 0;
  bool qkv_bias = false;
  nn::Activation activation = nn::Activation::Silu;
};

// `prefix`: of the keys of both halves that differ.
HalfSizes half_of(const Config& config, const std::string& prefix, int64_t width,
                  std::string_view activation) {
  const std::string heads = prefix + "num_attention_heads",
                    kv_heads = prefix + "num_key_value_heads";
  HalfSizes half;
  half.width = width;
  half.layers = config.size(prefix + "num_hidden_layers", 6, kMaxLayers);
  half.heads = config.size(heads, 8, kMaxHeads);
  half.kv_heads = config.size(kv_heads, half.heads, kMaxHeads);
  half.mlp = config.size("intermediate_size", 4 * width);
  half.qkv_bias = config.flag("attention_bias", false);
  half.activation = config.activation(prefix + "hidden_act", activation);
  config.require_multiple(heads, half.heads, kv_heads, half.kv_heads);
  const auto head_dim = prefix.empty() ? config.find_size("head_dim", kMaxHeadDim) : std::nullopt;
  if (!head_dim) config.require_multiple("hidden_size", width, heads, half.heads);
  half.head_dim = head_dim.value_or(width / half.heads);
  return half;
}

// Half of partial_rotary_factor's dimensions, rounded up, are pairs; the frequencies are those of
// the dimensions themselves.
nn::RopeOptions rope_of(const Config& config, int64_t head_dim, double usual_factor) {
  const double factor =
      RopeSettings(config).rotary_factor(config.number("partial_rotary_factor", usual_factor));
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
  const int64_t even = dims + dims % 2;
  if (dims < 1 || even > head_dim) {
    config.invalid("partial_rotary_factor",
                   fmt::format("{} of {} dimensions of a head", factor, head_dim));
  }
  nn::RopeOptions rope = rope_options(config, even, {.rotary_factor = usual_factor});
  if (even != dims) {
    if (rope.scaling.kind != nn::RopeScaling::Kind::Default) {
      config.unsupported("rope_parameters",
                         fmt::format("a scaled rope of {} dimensions is not supported", dims));
    }
    rope.theta = std::pow(rope.theta, static_cast<double>(even) / static_cast<double>(dims));
  }
  return rope;
}

nn::LayerOptions layer_of(const HalfSizes& half) {
  nn::LayerOptions layer;
  layer.features = half.width;
  layer.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5};
  nn::AttentionOptions& attention = layer.attention();
  attention.features = half.width;
  attention.num_heads = half.heads;
  attention.num_kv_heads = half.kv_heads;
  attention.head_dim = half.head_dim;
  attention.qkv_bias = half.qkv_bias;
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = half.width;
  mlp.hidden_features = half.mlp;
  mlp.activation = half.activation;
  mlp.bias = true;
  mlp.down = "fc2";
  return layer;
}

nn::LayerOptions turned_layer_of(const HalfSizes& half, const nn::RopeOptions& rope) {
  nn::LayerOptions layer = layer_of(half);
  layer.attention().rope = 0;
  layer.attention().rope_dims = rope.dims;
  layer.attention().interleaved = true;
  return layer;
}

void set_encoder(nn::EncoderOptions& encoder, const HalfSizes& half, nn::LayerOptions layer) {
  layer.mlp().gated = false;
  layer.mlp().up = "fc1";
  encoder.hidden_size = half.width;
  encoder.context = encoder.stem->length();
  encoder.bases = {"model.encoder"};
  encoder.norm = layer.norm;
  encoder.layers_path = "layers";
  encoder.layers.assign(static_cast<size_t>(half.layers), layer);
}

// The decoder, and what both kinds of models share.
void set_decoder(const Config& config, const HalfSizes& half, double rotary_factor, bool tied,
                 EncoderDecoderDescription& model) {
  config.ignore({"is_encoder_decoder"});
  model.vocab_size = config.size("vocab_size", 32768);
  model.width = half.width;
  model.start = config.json().get_int_or("decoder_start_token_id",
                                         config.json().get_int_or("bos_token_id", 1));
  model.base = "model.decoder";
  model.embedding = "model.decoder.embed_tokens";
  model.final_norm = "norm";
  model.ropes = {rope_of(config, half.head_dim, rotary_factor)};
  nn::LayerOptions layer = turned_layer_of(half, model.ropes.front());
  model.norm = layer.norm;
  layer.mlp_norm = "final_layernorm";
  layer.mlp().fused = layer.mlp().up_first = true;
  layer.mlp().gate = "fc1";
  for (int64_t i = 0; i < half.layers; ++i) {
    auto& [own, across] = model.layers.emplace_back();
    own = across = layer;
    own.mlp_norm.clear();
    own.feed_forward = nn::NoFeedForwardOptions{};
    across.attention_path = "encoder_attn";
    across.attention_norm = "post_attention_layernorm";
    across.attention().keys_of = i;
    across.attention().rope.reset();
    across.attention().rope_dims = 0;
    across.attention().interleaved = false;
  }
  model.head = "proj_out";
  model.tied = config.flag("tie_word_embeddings", tied);
  if (model.tied) model.unused.emplace_back("proj_out.");
}

nn::FeatureStemOptions stem_of(int64_t width) {
  using nn::Activation;
  nn::FeatureStemOptions stem;
  stem.inputs = 1;
  stem.frames = kMostSamples;
  stem.convolutions = {
      {.path = "conv1",
       .outputs = width,
       .size = 127,
       .stride = 64,
       .padding = 0,
       .bias = false,
       .activation = Activation::Tanh,
       .norm = "groupnorm"},
      {.path = "conv2", .outputs = 2 * width, .size = 7, .stride = 3, .padding = 0},
      {.path = "conv3", .outputs = width, .size = 3, .stride = 2, .padding = 0}};
  stem.least_frames = stem.shortest();
  return stem;
}

// Frames of so many samples, and two convolutions that see no later frames.
nn::FeatureStemOptions streaming_stem_of(int64_t width, int64_t frame, int64_t most_states) {
  nn::FeatureStemOptions stem;
  stem.inputs = 1;
  stem.frames = std::min(kMostSamples, most_states * 4 * frame);
  stem.sample_frames = {.samples = frame,
                        .outputs = width,
                        .compression = "embedder.comp",
                        .projection = "embedder.linear"};
  nn::FeatureStemOptions::Convolution convolution{.path = "embedder.conv1",
                                                  .outputs = 2 * width,
                                                  .size = 5,
                                                  .stride = 2,
                                                  .padding = 4,
                                                  .causal = true,
                                                  .activation = nn::Activation::Silu};
  stem.convolutions.push_back(convolution);
  convolution.path = "embedder.conv2";
  convolution.outputs = width;
  convolution.activation = nn::Activation::Identity;
  stem.convolutions.push_back(convolution);
  stem.least_frames = stem.shortest();
  return stem;
}

// A pair for each layer: a query sees fewer than the first number of keys before it, itself
// included, and fewer than the second after it.
void set_windows(const Config& config, std::vector<nn::LayerOptions>& layers) {
  constexpr std::string_view kKey = "sliding_windows";
  constexpr std::pair<int64_t, int64_t> kUsual[] = {{16, 4}, {16, 4}, {16, 0},
                                                    {16, 0}, {16, 4}, {16, 4}};
  std::vector<std::pair<int64_t, int64_t>> windows(std::begin(kUsual), std::end(kUsual));
  if (const auto given = config.find(kKey)) {
    windows.clear();
    for (const Json& pair : given->elements()) {
      if (pair.size() != 2) config.invalid(kKey, "a pair for each layer is expected");
      windows.emplace_back(pair.at(0).as_int(1, kMaxContext), pair.at(1).as_int(0, kMaxContext));
    }
  }
  if (windows.size() < layers.size()) {
    config.invalid(kKey, fmt::format("{} pairs for {} layers", windows.size(), layers.size()));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].attention().window = windows[i].first - 1;
    layers[i].attention().window_after = std::max<int64_t>(windows[i].second - 1, 0);
  }
}

void set_streaming_encoder(const Config& config, int64_t most_states, nn::EncoderOptions& encoder) {
  const int64_t width = config.size("hidden_size", 320);
  const HalfSizes half = half_of(config, "", width, "gelu");
  const double frame = config.number("sample_rate", 16000) * config.number("frame_ms", 5.0) / 1000;
  if (!(frame >= 1 && frame <= 16000)) {
    config.invalid("frame_ms", fmt::format("a frame of {} samples", frame));
  }
  encoder.stem = streaming_stem_of(width, std::llround(frame), most_states);
  nn::LayerOptions layer = layer_of(half);
  layer.norm.one_plus = true;
  set_encoder(encoder, half, layer);
  encoder.final_norm = "final_norm";
  set_windows(config, encoder.layers);
  config.ignore({"max_position_embeddings"});
  config.refuse_unread();
}

}  // namespace

EncoderDecoderDescription moonshine_encoder_decoder(const Config& config) {
  constexpr double kRotaryFactor = 0.9;
  const int64_t width = config.size("hidden_size", 288);
  EncoderDecoderDescription model;
  model.context = model.usual_context = config.size("max_position_embeddings", 512, kMaxContext);
  const HalfSizes half = half_of(config, "encoder_", width, "gelu");
  nn::EncoderOptions& encoder = model.encoder;
  encoder.ropes = {rope_of(config, half.head_dim, kRotaryFactor)};
  encoder.stem = stem_of(width);
  set_encoder(encoder, half, turned_layer_of(half, encoder.ropes.front()));
  encoder.final_norm = "layer_norm";
  set_decoder(config, half_of(config, "decoder_", width, "silu"), kRotaryFactor, /*tied=*/true,
              model);
  return model;
}

EncoderDecoderDescription moonshine_streaming_encoder_decoder(const Config& config) {
  constexpr double kRotaryFactor = 0.8;
  const auto own = config.find("encoder_config");
  if (!own) config.invalid("encoder_config", "missing");
  config.ignore({"pad_head_dim_to_multiple_of"});  // only how attention is computed there
  EncoderDecoderDescription model;
  model.context = config.size("max_position_embeddings", 4096, kMaxContext);
  set_streaming_encoder(Config(*own), model.context, model.encoder);
  const int64_t width = config.size("hidden_size", 320);
  set_decoder(config, half_of(config, "", width, "silu"), kRotaryFactor, /*tied=*/false, model);
  model.source_positions = nn::LearnedPositions{.path = "pos_emb", .rows = model.context};
  if (model.encoder.hidden_size != width) model.source_projection = "proj";
  return model;
}

}  // namespace pippin::models
