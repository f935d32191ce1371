// Moonshine (Jeffries et al. 2024): an encoder over the samples of a recording, of any length, and
// a decoder with a gated feed-forward, both with ropes over the larger part of each head.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

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
  int64_t layers = 0, heads = 0, kv_heads = 0;
  std::string activation;
};

HalfSizes half_of(const Config& config, const std::string& side, std::string_view activation) {
  HalfSizes half;
  half.layers = config.size(side + "_num_hidden_layers", 6, kMaxLayers);
  half.heads = config.size(side + "_num_attention_heads", 8, kMaxHeads);
  half.kv_heads = config.size(side + "_num_key_value_heads", half.heads, kMaxHeads);
  half.activation = side + "_hidden_act";
  config.require_multiple("hidden_size", config.size("hidden_size", 288), side + " heads",
                          half.heads);
  config.require_multiple(side + "_num_attention_heads", half.heads, side + "_num_key_value_heads",
                          half.kv_heads);
  config.activation(half.activation, activation);
  return half;
}

// Half of partial_rotary_factor's dimensions, rounded up, are pairs; the frequencies are those of
// the dimensions themselves.
nn::RopeOptions rope_of(const Config& config, int64_t head_dim) {
  constexpr double kFactor = 0.9;
  const double factor =
      RopeSettings(config).rotary_factor(config.number("partial_rotary_factor", kFactor));
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
  const int64_t even = dims + dims % 2;
  if (dims < 1 || even > head_dim) {
    config.invalid("partial_rotary_factor",
                   fmt::format("{} of {} dimensions of a head", factor, head_dim));
  }
  nn::RopeOptions rope = rope_options(config, even, {.rotary_factor = kFactor});
  if (even != dims) {
    if (rope.scaling.kind != nn::RopeScaling::Kind::Default) {
      config.unsupported("rope_parameters",
                         fmt::format("a scaled rope of {} dimensions is not supported", dims));
    }
    rope.theta = std::pow(rope.theta, static_cast<double>(even) / static_cast<double>(dims));
  }
  return rope;
}

nn::LayerOptions layer_of(const Config& config, const HalfSizes& half, int64_t width,
                          const nn::RopeOptions& rope) {
  nn::LayerOptions layer;
  layer.features = width;
  layer.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5};
  nn::AttentionOptions& attention = layer.attention();
  attention.features = width;
  attention.num_heads = half.heads;
  attention.num_kv_heads = half.kv_heads;
  attention.head_dim = width / half.heads;
  attention.qkv_bias = config.flag("attention_bias", false);
  attention.rope = 0;
  attention.rope_dims = rope.dims;
  attention.interleaved = true;
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = width;
  mlp.hidden_features = config.size("intermediate_size", 1152);
  mlp.bias = true;
  mlp.down = "fc2";
  return layer;
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

}  // namespace

EncoderDecoderDescription moonshine_encoder_decoder(const Config& config) {
  const int64_t width = config.size("hidden_size", 288);
  const HalfSizes read = half_of(config, "encoder", "gelu");
  const HalfSizes written = half_of(config, "decoder", "silu");
  config.ignore({"is_encoder_decoder"});
  EncoderDecoderDescription model;
  model.vocab_size = config.size("vocab_size", 32768);
  model.width = width;
  model.context = model.usual_context = config.size("max_position_embeddings", 512, kMaxContext);
  model.start = config.json().get_int_or("decoder_start_token_id", 1);

  nn::EncoderOptions& encoder = model.encoder;
  encoder.ropes = {rope_of(config, width / read.heads)};
  nn::LayerOptions layer = layer_of(config, read, width, encoder.ropes.front());
  layer.mlp().activation = config.activation(read.activation, "gelu");
  layer.mlp().gated = false;
  layer.mlp().up = "fc1";
  encoder.hidden_size = width;
  encoder.stem = stem_of(width);
  encoder.context = encoder.stem->length();
  encoder.bases = {"model.encoder"};
  encoder.norm = layer.norm;
  encoder.final_norm = "layer_norm";
  encoder.layers_path = "layers";
  encoder.layers.assign(static_cast<size_t>(read.layers), layer);

  model.base = "model.decoder";
  model.embedding = "model.decoder.embed_tokens";
  model.norm = layer.norm;
  model.final_norm = "norm";
  model.ropes = {rope_of(config, width / written.heads)};
  layer = layer_of(config, written, width, model.ropes.front());
  layer.mlp_norm = "final_layernorm";
  layer.mlp().activation = config.activation(written.activation, "silu");
  layer.mlp().fused = layer.mlp().up_first = true;
  layer.mlp().gate = "fc1";
  for (int64_t i = 0; i < written.layers; ++i) {
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
  model.tied = config.flag("tie_word_embeddings", true);
  if (model.tied) model.unused.emplace_back("proj_out.");
  return model;
}

}  // namespace pippin::models
