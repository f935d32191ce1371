// RWKV 4 (Peng et al. 2023): means over time, and feed-forwards that see the previous token. Each
// is a separate layer here.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions rwkv(const Config& config) {
  config.ignore({"context_length"});  // the model has no length limit
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50277,
                                                    .hidden_size = 4096,
                                                    .num_layers = 32,
                                                    .num_heads = 1,
                                                    .context = int64_t{1} << 20,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5});
  const int64_t blocks = static_cast<int64_t>(model.layers.size());
  const int64_t hidden = model.hidden_size;
  const auto every = config.find("rescale_every");
  const int64_t rescaled = every ? every->as_int() : 6;
  model.base = "rwkv";
  model.embedding = "embeddings";
  model.layers_path = "blocks";
  model.final_norm = "ln_out";
  model.head = "head";
  model.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = model.norm.epsilon, .bias = true};
  model.embedding_norm = "blocks.0.pre_ln";
  model.embedding_norm_form = model.norm;
  nn::LayerOptions layer;
  layer.features = hidden;
  layer.norm = model.norm;
  layer.mlp_norm.clear();
  layer.feed_forward = nn::NoFeedForwardOptions();
  const nn::TimeMixOptions time{hidden, config.size("attention_hidden_size", hidden)};
  const nn::ChannelMixOptions channels{hidden, config.size("intermediate_size", 4 * hidden)};
  // Halving the residual after every few blocks is equivalent to a larger epsilon.
  const auto widened = [&](double epsilon, int64_t block) {
    if (rescaled <= 0) return epsilon;
    const int64_t halvings = block / rescaled;
    return epsilon * std::exp2(2.0 * static_cast<double>(halvings));
  };
  model.layers.clear();
  for (int64_t i = 0; i < blocks; ++i) {
    layer.path = fmt::format("{}", i);
    layer.norm.epsilon = widened(model.norm.epsilon, i);
    layer.attention_norm = "ln1";
    layer.attention_path = "attention";
    layer.mixer = time;
    model.layers.push_back(layer);
    layer.attention_norm = "ln2";
    layer.attention_path = "feed_forward";
    layer.mixer = channels;
    model.layers.push_back(layer);
  }
  model.norm.epsilon = widened(1e-5, blocks);  // regardless of layer_norm_epsilon
  return model;
}

}  // namespace pippin::models
