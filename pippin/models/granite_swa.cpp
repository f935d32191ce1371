// Granite with windows and sinks (IBM 2026): Granite, and its experts, with a rope base for each
// layer, or none.

#include <map>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

// layer_rope_theta: 0 means no positions.
void turn_layers(const Config& config, nn::DecoderOptions& model) {
  const auto list = config.find("layer_rope_theta");
  if (!list) return;
  const std::vector<double> thetas = list->as_floats();
  if (thetas.size() != model.layers.size()) {
    config.invalid("layer_rope_theta",
                   fmt::format("{} for {} layers", thetas.size(), model.layers.size()));
  }
  const nn::RopeOptions first = model.ropes.at(0);
  model.ropes.clear();
  std::map<double, size_t> known;
  for (size_t i = 0; i < thetas.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    if (thetas[i] == 0) {
      attention.rope.reset();
      continue;
    }
    if (!(thetas[i] > 0)) config.invalid("layer_rope_theta", fmt::format("{}", thetas[i]));
    const auto [place, is_new] = known.emplace(thetas[i], model.ropes.size());
    if (is_new) model.ropes.emplace_back(first).theta = thetas[i];
    attention.rope = place->second;
  }
}

void use_windows(const Config& config, nn::DecoderOptions& model) {
  turn_layers(config, model);
  const size_t count = model.layers.size();
  std::vector<bool> sliding(count);
  for (size_t i = 0; i < count; ++i) sliding[i] = i % 4 != 0;
  slide(model, sliding_layers(config, count).value_or(sliding), window_size(config, 128));
  for (nn::LayerOptions& layer : model.layers) layer.attention().sinks = true;
}

}  // namespace

nn::DecoderOptions granite_swa(const Config& config) {
  nn::DecoderOptions model = granite_like(config, {.vocab_size = 100352,
                                                   .hidden_size = 2560,
                                                   .intermediate_size = 8192,
                                                   .num_layers = 24,
                                                   .num_heads = 20,
                                                   .num_kv_heads = 4,
                                                   .context = 8192,
                                                   .epsilon = 1e-5,
                                                   .tied = true});
  use_windows(config, model);
  return model;
}

nn::DecoderOptions granitemoe_swa(const Config& config) {
  nn::DecoderOptions model = granitemoeshared(config);
  use_windows(config, model);
  for (nn::LayerOptions& layer : model.layers) {
    auto& experts = std::get<nn::ExpertsOptions>(layer.feed_forward);
    experts.router.path = "block_sparse_moe.router";
    experts.path = "block_sparse_moe.experts";
    experts.weights.gate = "gate_up_proj";
    experts.weights.down = "down_proj";
  }
  return model;
}

}  // namespace pippin::models
