// GPT-Neo (EleutherAI 2021): GPT-2 with separate projections, scores that are not scaled, and
// windows in every other layer.

#include <string>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

// attention_types: [[["global", "local"], 12]], names and numbers of repetitions.
std::vector<bool> local_layers(const Config& config, size_t count) {
  std::vector<std::string> names;
  if (const auto listed = config.find("attention_layers")) {
    names = listed->as_strings();
  } else if (const auto types = config.find("attention_types")) {
    for (const Json& group : types->elements()) {
      const int64_t times = group.at(size_t{1}).as_int(0, kMaxLayers);
      const std::vector<std::string> own = group.at(size_t{0}).as_strings();
      for (int64_t i = 0; i < times; ++i) names.insert(names.end(), own.begin(), own.end());
      if (names.size() > count) break;
    }
  } else {
    for (size_t i = 0; i < count; ++i) names.emplace_back(i % 2 == 0 ? "global" : "local");
  }
  if (names.size() != count) {
    config.invalid("attention_layers", fmt::format("{} for {} layers", names.size(), count));
  }
  std::vector<bool> local;
  for (const std::string& name : names) {
    if (name != "local" && name != "global") {
      config.unsupported("attention_layers",
                         fmt::format("'{}' is not supported (known: global, local)", name));
    }
    local.push_back(name == "local");
  }
  return local;
}

}  // namespace

nn::DecoderOptions gpt_neo(const Config& given) {
  Config config = given;
  config.alias("num_hidden_layers", "num_layers");
  config.alias("num_attention_heads", "num_heads");
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 50257,
                                                .hidden_size = 2048,
                                                .num_layers = 24,
                                                .num_heads = 16,
                                                .context = 2048,
                                                .activation = "gelu_new",
                                                .tied = true});
  model.positions = nn::LearnedPositions{.path = "wpe", .rows = model.context};
  const auto local = local_layers(config, model.layers.size());
  slide(model, local, config.size("window_size", 256, kMaxContext));
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_path = "attn.attention";
    layer.attention().output = "out_proj";
    layer.attention().qkv_bias = false;
    layer.attention().scale = 1.0;
  }
  return model;
}

}  // namespace pippin::models
