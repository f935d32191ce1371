// HRM-Text (Sapient 2026): two stacks of layers that alternate several times, each on the other's
// last result; each turn has separate keys.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

// One of the layers of a stack, at one of its turns.
nn::LayerOptions turn_of(const nn::LayerOptions& layer, bool high, int64_t index, int64_t count) {
  nn::LayerOptions own = layer;
  own.path = fmt::format("{}_module.layers.{}", high ? 'H' : 'L', index);
  own.turn = {.high = high, .begins = index == 0, .ends = index + 1 == count, .start = ""};
  return own;
}

}  // namespace

nn::DecoderOptions hrm_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151808,
                                                 .hidden_size = 1536,
                                                 .intermediate_size = 4096,
                                                 .num_layers = 16,
                                                 .num_heads = 12,
                                                 .head_dim = 128,
                                                 .context = 2048});
  config.ignore({"prefix_lm"});  // a prompt is read from left to right
  // If this number is present, num_hidden_layers counts caches.
  const auto count =
      config.size("num_layers_per_stack", static_cast<int64_t>(model.layers.size()), kMaxLayers);
  const int64_t high = config.size("H_cycles", 2, kMaxLayers);
  const int64_t low = config.size("L_cycles", 3, kMaxLayers);
  const auto scale = config.find_number("embedding_scale");
  model.embedding_scale = scale.value_or(1 / config.number("initializer_range", 0.02));
  if (high * (low + 1) > kMaxLayers / count) {
    config.invalid("H_cycles", fmt::format("{} turns of {} layers", high * (low + 1), count));
  }
  nn::LayerOptions layer = model.layers.at(0);
  layer.norm.weight = false;
  layer.attention_path = "attn";
  nn::AttentionOptions& attention = layer.attention();
  attention.layout = nn::QkvLayout::GateBlocks;
  attention.qkv = "gqkv_proj";
  attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
  layer.mlp().fused = true;
  layer.mlp().gate = "gate_up_proj";
  layer.mlp().bias = config.flag("mlp_bias", false);
  model.layers.clear();
  for (int64_t turn = 0; turn < high * (low + 1); ++turn) {
    const bool is_high = turn % (low + 1) == low;
    for (int64_t i = 0; i < count; ++i) {
      model.layers.push_back(turn_of(layer, is_high, i, count));
    }
  }
  model.layers.at(0).turn->start = "z_L_init";
  model.layers_path.clear();
  model.final_norm.clear();
  return model;
}

}  // namespace pippin::models
