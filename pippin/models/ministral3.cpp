// Ministral 3 (Mistral AI 2025): Mistral with yarn, and queries that grow with their position.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

std::optional<nn::Temperature> mistral_temperature(const Config& config) {
  const RopeSettings settings(config);
  const Config& rope = settings.object();
  const auto beta = rope.find("llama_4_scaling_beta");
  if (!beta || beta->as_float() == 0) return std::nullopt;
  const auto positions = rope.find_size("original_max_position_embeddings", kMaxContext);
  if (!positions) rope.invalid("original_max_position_embeddings", "missing");
  return nn::Temperature{
      .positions = static_cast<double>(*positions), .scale = beta->as_float(), .first = 0};
}

nn::DecoderOptions ministral3(const Config& given) {
  const Config config = given.with_default_rope(
      R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "beta_fast": 32.0,
          "beta_slow": 1.0, "original_max_position_embeddings": 16384, "mscale": 1.0,
          "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 131072,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 34,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 128,
                                                 .context = 262144,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6,
                                                 .rope_keys = {"llama_4_scaling_beta"}});
  const auto temperature = mistral_temperature(config);
  for (nn::LayerOptions& layer : model.layers) layer.attention().temperature = temperature;
  slide(model, std::vector<bool>(model.layers.size(), true), window_size(config, std::nullopt));
  return model;
}

}  // namespace pippin::models
