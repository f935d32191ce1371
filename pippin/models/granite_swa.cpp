// Granite with windows and sinks (IBM 2026): Granite, and its experts, with a rope base for each
// layer, or none.

#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

void use_windows(const Config& config, nn::DecoderOptions& model) {
  const auto thetas = layer_thetas(config, model.layers.size());
  if (thetas) turn_layers(model, *thetas);
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
