#include "pippin/models/config/common.h"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/mil/elements.h"
#include "pippin/models/config/rope_settings.h"

namespace pippin::models {

namespace {

// The sizes of a layer's attention and feed-forward.
void size_layer(const Config& config, const Defaults& defaults, nn::LayerOptions& layer) {
  nn::AttentionOptions& attention = layer.attention();
  attention.num_heads = config.size("num_attention_heads", defaults.num_heads, kMaxHeads);
  // null, unlike an absent key, always means as many as there are heads.
  const bool own = defaults.num_kv_heads > 0 && !config.contains("num_key_value_heads");
  attention.num_kv_heads = config.size(
      "num_key_value_heads", own ? defaults.num_kv_heads : attention.num_heads, kMaxHeads);
  config.require_multiple("num_attention_heads", attention.num_heads, "num_key_value_heads",
                          attention.num_kv_heads);
  const auto head_dim = config.find_size("head_dim", kMaxHeadDim);
  if (!head_dim && defaults.head_dim == 0) {
    config.require_multiple("hidden_size", layer.features, "num_attention_heads",
                            attention.num_heads);
  }
  const bool own_head_dim = defaults.head_dim > 0 && !config.contains("head_dim");
  attention.head_dim =
      head_dim.value_or(own_head_dim ? defaults.head_dim : layer.features / attention.num_heads);
  layer.mlp().hidden_features =
      config.size(defaults.width_key,
                  defaults.intermediate_size > 0 ? defaults.intermediate_size : 4 * layer.features);
}

}  // namespace

nn::DecoderOptions plain_decoder(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model;
  model.vocab_size = config.size("vocab_size", defaults.vocab_size);
  model.hidden_size = config.size("hidden_size", defaults.hidden_size);
  model.context = config.size("max_position_embeddings", defaults.context, kMaxContext);
  model.norm.epsilon = config.number(defaults.epsilon_key, defaults.epsilon);
  model.tied = config.flag("tie_word_embeddings", defaults.tied);

  nn::LayerOptions layer;
  layer.norm = model.norm;
  layer.features = model.hidden_size;
  layer.attention().features = model.hidden_size;
  layer.mlp().features = model.hidden_size;
  layer.mlp().activation = config.activation(defaults.activation_key, defaults.activation);
  size_layer(config, defaults, layer);
  const int64_t count = config.size("num_hidden_layers", defaults.num_layers, kMaxLayers);
  model.layers.assign(static_cast<size_t>(count), layer);
  constexpr std::string_view kHeads = "num_attention_heads", kKvHeads = "num_key_value_heads";
  if (config.differs_by_layer({kHeads, kKvHeads, "head_dim", defaults.width_key},
                              model.layers.size())) {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      size_layer(config.of_layer(i), defaults, model.layers[i]);
    }
  }
  return model;
}

void add_rope(const Config& config, nn::DecoderOptions& model, const RopeDefaults& defaults) {
  const int64_t head_dim = model.layers.at(0).attention().head_dim;
  double rotary_factor = 1.0;
  const RopeSettings settings(config, defaults.kind);
  if (defaults.rotary_factor > 0) {
    const double factor = config.number("partial_rotary_factor", defaults.rotary_factor);
    if (!settings.is_proportional()) rotary_factor = settings.rotary_factor(factor);
  }
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * rotary_factor);
  if (dims < 2 || dims % 2 != 0 || dims > head_dim) {
    config.invalid("head_dim",
                   fmt::format("{} is odd: rotary positions rotate pairs ({} of {} dimensions)",
                               dims, dims, head_dim));
  }
  model.ropes.push_back(rope_options(config, dims, defaults));
  const nn::RopeOptions& rope = model.ropes.back();
  // The length that the scaling is for, if max_position_embeddings is the length without it.
  if (rope.scaling.kind == nn::RopeScaling::Kind::Yarn) {
    const double length = static_cast<double>(rope.scaling.original_context) * rope.scaling.factor;
    model.context = std::max(
        model.context, static_cast<int64_t>(std::min(length, static_cast<double>(kMaxContext))));
  }
  if (rope.scaling.kind == nn::RopeScaling::Kind::Dynamic) {
    model.context =
        std::min(kMaxContext, static_cast<int64_t>(static_cast<double>(model.context) *
                                                   std::clamp(rope.scaling.factor, 1.0, 1e6)));
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    if (attention.head_dim != head_dim) {
      config.unsupported("per_layer_config",
                         fmt::format("layer {} has heads of {} elements, layer 0 of {}", i,
                                     attention.head_dim, head_dim));
    }
    attention.rope = model.ropes.size() - 1;
    attention.rope_dims = dims;
  }
}

void add_ropes_by_kind(const Config& config, nn::DecoderOptions& model,
                       const std::vector<bool>& sliding, RopeDefaults full, RopeDefaults slides) {
  full.kind = kFullLayers;
  slides.kind = kSlidingLayers;
  const int64_t head_dim = model.layers.at(0).attention().head_dim;
  for (const RopeDefaults& defaults : {full, slides}) {
    const bool own = defaults.kind == kSlidingLayers;
    const RopeSettings settings(config, defaults.kind);
    const double whole = defaults.rotary_factor > 0 ? defaults.rotary_factor : 1.0;
    const double given = config.number("partial_rotary_factor", whole);
    const double factor = settings.is_proportional() ? 1.0 : settings.rotary_factor(given);
    const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
    if (dims < 2 || dims % 2 != 0 || dims > head_dim) {
      config.invalid("partial_rotary_factor",
                     fmt::format("{} of {} dimensions cannot be rotated in pairs", dims, head_dim));
    }
    RopeDefaults part = defaults;
    part.rotary_factor = settings.is_proportional() ? whole : factor;
    model.ropes.push_back(rope_options(config, dims, part));
    for (size_t i = 0; i < model.layers.size(); ++i) {
      if (sliding[i] != own) continue;
      nn::AttentionOptions& attention = model.layers[i].attention();
      if (!settings.is_absent()) attention.rope = model.ropes.size() - 1;
      attention.rope_dims = dims;
    }
  }
}

std::optional<std::vector<double>> layer_thetas(const Config& config, size_t num_layers) {
  constexpr std::string_view kKey = "layer_rope_theta";
  const auto list = config.find(kKey);
  if (!list) return std::nullopt;
  std::vector<double> thetas = list->as_floats();
  if (thetas.size() != num_layers) {
    config.invalid(kKey, fmt::format("{} for {} layers", thetas.size(), num_layers));
  }
  for (const double theta : thetas) {
    if (!(theta >= 0)) config.invalid(kKey, fmt::format("{} is below 0", theta));
  }
  return thetas;
}

void turn_layers(nn::DecoderOptions& model, const std::vector<double>& thetas) {
  const nn::RopeOptions first = model.ropes.at(0);
  model.ropes.clear();
  std::map<double, size_t> known;
  for (size_t i = 0; i < thetas.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    if (thetas[i] == 0) {
      attention.rope.reset();
      continue;
    }
    const auto [place, is_new] = known.emplace(thetas[i], model.ropes.size());
    if (is_new) model.ropes.emplace_back(first).theta = thetas[i];
    attention.rope = place->second;
  }
}

nn::DecoderOptions llama_like(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = plain_decoder(config, defaults);
  add_rope(config, model,
           {.theta = defaults.rope_theta,
            .rotary_factor = defaults.rotary_factor,
            .kind = defaults.rope_kind,
            .keys = defaults.rope_keys});
  return model;
}

std::optional<std::vector<bool>> sliding_layers(const Config& config, size_t num_layers) {
  const auto types = config.find("layer_types");
  if (!types) return std::nullopt;
  const std::vector<std::string> names = types->as_strings();
  if (names.size() != num_layers) {
    config.invalid("layer_types", fmt::format("{} for {} layers", names.size(), num_layers));
  }
  std::vector<bool> sliding;
  for (const std::string& name : names) {
    if (name != "sliding_attention" && name != "full_attention") {
      config.unsupported("layer_types", fmt::format("'{}' is not supported (known: "
                                                    "full_attention, sliding_attention)",
                                                    name));
    }
    sliding.push_back(name == "sliding_attention");
  }
  return sliding;
}

std::vector<bool> sliding_pattern(size_t num_layers, int64_t pattern) {
  std::vector<bool> sliding;
  for (size_t i = 0; i < num_layers; ++i) {
    sliding.push_back((static_cast<int64_t>(i) + 1) % pattern != 0);
  }
  return sliding;
}

std::optional<int64_t> window_size(const Config& config, std::optional<int64_t> fallback) {
  if (!config.contains("sliding_window")) return fallback;
  return config.find_size("sliding_window", kMaxContext);
}

void slide(nn::DecoderOptions& model, const std::vector<bool>& sliding,
           std::optional<int64_t> window) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (sliding.at(i)) model.layers[i].attention().window = window;
  }
}

uint64_t position_bytes(const nn::DecoderOptions& model, mil::DataType type) {
  int64_t elements = 0;
  for (const nn::LayerOptions& layer : model.layers) {
    const nn::MixerNeeds needs = layer.needs();
    if (needs.stored) elements += needs.kv_heads * (needs.head_dim + needs.value_size());
  }
  for (const nn::RopeOptions& rope : model.ropes) {
    const bool has_two = rope.scaling.kind == nn::RopeScaling::Kind::LongRope;
    elements += (has_two ? 4 : 2) * rope.dims;
  }
  return mil::packed_size(type, elements);
}

int64_t choose_context(const nn::DecoderOptions& model, uint64_t memory, mil::DataType type) {
  const int64_t least = choose_context(model, 0);
  const uint64_t bytes = position_bytes(model, type);
  if (bytes == 0 || memory / bytes >= static_cast<uint64_t>(model.context)) return model.context;
  return std::max(least, static_cast<int64_t>(std::bit_floor(memory / bytes)));
}

int64_t choose_context(const nn::DecoderOptions& model, int64_t wanted) {
  constexpr int64_t kDefault = 2048;
  if (wanted == 0) return std::min(model.context, kDefault);
  if (wanted < 2) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens is too short", wanted);
  }
  if (wanted > model.context) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: the model was made for {}", wanted,
         model.context);
  }
  return wanted;
}

}  // namespace pippin::models
