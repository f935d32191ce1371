// Hunyuan-A13B (Tencent 2025): Hunyuan with experts and an additional feed-forward for every token.
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

// A number for all layers, or a list with one for each.
std::vector<int64_t> per_layer(const Config& config, std::string_view key, size_t layers,
                               int64_t fallback, int64_t most) {
  const auto value = config.find(key);
  std::vector<int64_t> numbers(layers, fallback);
  if (value && value->is_array()) {
    numbers = value->as_ints();
    if (numbers.size() != layers) {
      config.invalid(key, fmt::format("{} for {} layers", numbers.size(), layers));
    }
  } else if (value) {
    numbers.assign(layers, value->as_int());
  }
  for (const int64_t number : numbers) {
    if (number < 1 || number > most) {
      config.invalid(key, fmt::format("{} is not between 1 and {}", number, most));
    }
  }
  return numbers;
}

}  // namespace

nn::DecoderOptions hunyuan_v1_moe(const Config& config) {
  nn::DecoderOptions model = hunyuan_v1_dense(config);
  const size_t count = model.layers.size();
  const auto experts_in = per_layer(config, "num_experts", count, 1, kMaxExperts);
  const auto chosen_in = per_layer(config, "moe_topk", count, 1, kMaxExperts);
  nn::ExpertsOptions experts;
  const nn::MLPOptions dense = model.layers.at(0).mlp();
  experts.router.path = "gate.wg";
  experts.router.features = model.hidden_size;
  experts.router.normalized = true;
  experts.weights.features = model.hidden_size;
  experts.weights.hidden_features = dense.hidden_features;
  experts.activation = dense.activation;
  experts.shared = dense;
  experts.shared_path = "shared_mlp";
  for (const int64_t width :
       per_layer(config, "moe_intermediate_size", count, dense.hidden_features, kMaxSize)) {
    if (width != dense.hidden_features) {
      config.unsupported("moe_intermediate_size", "only intermediate_size is supported");
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (chosen_in[i] > experts_in[i]) {
      config.invalid("moe_topk", fmt::format("{} of {} experts are chosen in layer {}",
                                             chosen_in[i], experts_in[i], i));
    }
    experts.router.num_experts = experts.weights.num_experts = experts_in[i];
    experts.router.top_k = chosen_in[i];
    model.layers[i].feed_forward = experts;
  }
  return model;
}

}  // namespace pippin::models
