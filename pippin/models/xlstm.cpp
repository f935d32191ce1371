// xLSTM 7B (NX-AI 2025): a matrix memory in every layer, and a gated feed-forward.
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

nn::MLSTMOptions matrix_memory(const Config& config, const nn::DecoderOptions& model) {
  nn::MLSTMOptions memory;
  memory.features = model.hidden_size;
  memory.num_heads = config.size("num_heads", 8, kMaxHeads);
  const auto size = [&](std::string_view key, double fallback) {
    const int64_t all = expanded(config, key, model.hidden_size, config.number(key, fallback));
    if (all % memory.num_heads != 0) {
      config.invalid("num_heads", fmt::format("{} heads of {} elements", memory.num_heads, all));
    }
    return all / memory.num_heads;
  };
  memory.key_dim = size("qk_dim_factor", 0.5);
  memory.value_dim = size("v_dim_factor", 1.0);
  memory.gate_cap = config.number("gate_soft_cap", 15.0);
  memory.epsilon = config.number("eps", 1e-6);
  memory.norm.epsilon = model.norm.epsilon;
  return memory;
}

}  // namespace

nn::DecoderOptions xlstm(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "embedding_dim");
  config.alias("num_hidden_layers", "num_blocks");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50304,
                                                    .hidden_size = 4096,
                                                    .num_layers = 32,
                                                    .num_heads = 1,
                                                    .context = int64_t{1} << 20,
                                                    .epsilon_key = "norm_eps"});
  config.require_flag("use_bias", false, false);
  config.require_flag("add_out_norm", true, true);
  if (const std::string mode = config.text("weight_mode", "single"); mode != "single") {
    config.unsupported("weight_mode", fmt::format("'{}' is not supported (known: single)", mode));
  }
  for (const auto& [key, other] :
       {std::pair{"embedding_dim", model.hidden_size},
        std::pair{"num_blocks", static_cast<int64_t>(model.layers.size())}}) {
    if (config.size(key, other) == other) continue;
    config.unsupported(key, fmt::format("{} is not {}", config.size(key, other), other));
  }
  const auto width =
      static_cast<double>(model.hidden_size) * config.number("ffn_proj_factor", 2.667);
  const auto multiple =
      static_cast<double>(config.size("ffn_round_up_to_multiple_of", 64, kMaxSize));
  const double rounded = std::floor((width + multiple - 1) / multiple) * multiple;
  if (rounded > static_cast<double>(kMaxSize)) {
    config.invalid("ffn_proj_factor", fmt::format("{} features are too many", rounded));
  }
  model.logit_softcap = config.number("output_logit_soft_cap", 30.0);
  model.base = "backbone";
  model.embedding = "embeddings";
  model.layers_path = "blocks";
  model.final_norm = "out_norm";
  const nn::MLSTMOptions memory = matrix_memory(config, model);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = "norm_mlstm";
    layer.attention_path = "mlstm_layer";
    layer.mixer = memory;
    layer.mlp_norm = "norm_ffn";
    layer.mlp_path = "ffn";
    layer.mlp().hidden_features = static_cast<int64_t>(rounded);
    layer.mlp().gate = "proj_up_gate";
    layer.mlp().up = "proj_up";
    layer.mlp().down = "proj_down";
  }
  return model;
}

}  // namespace pippin::models
