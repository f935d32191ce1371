#include "pippin/models/config/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"

namespace pippin::models {
namespace {

// A key that changes the result in some architecture, and the value, besides null, false, 0 and
// empty ones, that means "off".
struct Meaningful {
  std::string_view key;
  double off = 0;
  bool off_flag = false;
};
constexpr Meaningful kMeaningful[] = {
    {"add_cross_attention"},
    {"alibi"},
    {"attention_bias"},
    {"attention_multiplier"},
    {"attn_logit_softcapping"},
    {"block_auto_adjust_ff_dim"},
    {"clip_qkv"},
    {"compression_config"},
    {"embedding_multiplier", 1},
    {"final_logit_softcapping"},
    {"first_k_dense_replace"},
    {"is_causal", 0, true},
    {"is_encoder_decoder"},
    {"kv_lora_rank"},
    {"layer_types"},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"mlp_bias"},
    {"moe_intermediate_size"},
    {"n_routed_experts"},
    {"no_rope_layers"},
    {"num_experts"},
    {"num_local_experts"},
    {"partial_rotary_factor", 1},
    {"per_layer_config"},
    {"prefix_lm"},
    {"q_lora_rank"},
    {"qk_layernorm"},
    {"quantization"},
    {"quantization_config"},
    {"query_pre_attn_scalar"},
    {"residual_multiplier", 1},
    {"rope_parameters"},
    {"rope_scaling"},
    {"rotary_pct", 1},
    {"scale_depth"},
    {"scale_emb", 1},
    {"text_config"},
    {"use_bidirectional_attention"},
    {"use_qk_norm"},
    {"use_sliding_window"},
    {"vision_config"},
};

bool is_off(const Json& value, double off, bool off_flag = false) {
  if (value.is_null()) return true;
  if (value.is_bool()) return value.as_bool() == off_flag;
  if (value.is_number()) return value.as_float() == 0 || value.as_float() == off;
  if (value.is_string()) return value.as_string().empty();
  // layer_types of a model whose layers are all alike.
  const auto is_plain = [](const Json& one) {
    return one.is_string() && one.as_string() == "full_attention";
  };
  if (value.is_array()) {
    const auto elements = value.elements();
    return std::all_of(elements.begin(), elements.end(), is_plain);
  }
  return value.size() == 0;
}

constexpr std::pair<std::string_view, nn::Activation> kActivations[] = {
    {"silu", nn::Activation::Silu},
    {"swish", nn::Activation::Silu},
    {"gelu", nn::Activation::Gelu},
    {"gelu_python", nn::Activation::Gelu},
    {"gelu_new", nn::Activation::GeluTanh},
    {"gelu_fast", nn::Activation::GeluTanh},
    {"gelu_pytorch_tanh", nn::Activation::GeluTanh},
    {"gelu_accurate", nn::Activation::GeluTanh},
    {"gelu_python_tanh", nn::Activation::GeluTanh},
    {"quick_gelu", nn::Activation::QuickGelu},
    {"relu", nn::Activation::Relu},
    {"relu2", nn::Activation::Relu2},
    {"tanh", nn::Activation::Tanh},
    {"sigmoid", nn::Activation::Sigmoid},
    {"linear", nn::Activation::Identity},
    {"xielu", nn::Activation::XIELU},
};

}  // namespace

std::string Config::resolve(std::string_view key) const {
  read_->emplace(key);
  if (const auto other = aliases_.find(key); other != aliases_.end()) {
    read_->insert(other->second);
    if (!json_.has(key) && json_.has(other->second)) return other->second;
  }
  return std::string(key);
}

void Config::alias(std::string_view key, std::string_view other) {
  aliases_.emplace(key, other);
}

std::optional<int64_t> Config::find_size(std::string_view key, int64_t max) const {
  const std::string name = resolve(key);
  const auto value = json_.find_int(name);
  if (value && (*value < 1 || *value > max)) {
    invalid(name, fmt::format("{} is not between 1 and {}", *value, max));
  }
  return value;
}

int64_t Config::size(std::string_view key, int64_t fallback, int64_t max) const {
  return find_size(key, max).value_or(fallback);
}

std::optional<double> Config::find_number(std::string_view key) const {
  const std::string name = resolve(key);
  const auto value = json_.find_float(name);
  if (value && (!std::isfinite(*value) || *value <= 0)) {
    invalid(name, fmt::format("{} is not above 0", *value));
  }
  return value;
}

double Config::number(std::string_view key, double fallback) const {
  return find_number(key).value_or(fallback);
}

bool Config::flag(std::string_view key, bool fallback) const {
  return json_.get_bool_or(resolve(key), fallback);
}

std::string Config::text(std::string_view key, std::string_view fallback) const {
  return json_.get_string_or(resolve(key), fallback);
}

std::optional<Json> Config::find(std::string_view key) const {
  return json_.find(resolve(key));
}

bool Config::contains(std::string_view key) const {
  return json_.contains(resolve(key));
}

std::vector<double> Config::numbers(std::string_view key, int64_t count, double fallback) const {
  const auto value = find(key);
  const auto size = static_cast<size_t>(count);
  std::vector<double> result(size, fallback);
  if (!value) return result;
  if (value->is_array()) {
    result = value->as_floats();
    if (result.size() != size) {
      invalid(key, fmt::format("{} numbers, {} are needed", result.size(), count));
    }
  } else {
    result.assign(size, value->as_float());
  }
  for (const double number : result) {
    if (!std::isfinite(number) || number <= 0)
      invalid(key, fmt::format("{} is not above 0", number));
  }
  return result;
}

nn::Activation Config::activation(std::string_view key, std::string_view fallback) const {
  return activation_called(text(key, fallback), key);
}

nn::Activation Config::activation_called(std::string_view name, std::string_view key) const {
  std::vector<std::string_view> known;
  for (const auto& [candidate, activation] : kActivations) {
    if (candidate == name) return activation;
    known.push_back(candidate);
  }
  fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: {})", json_.where(key), name,
       fmt::join(known, ", "));
}

void Config::unsupported(std::string_view key, std::string_view why) const {
  fail(ErrorCode::Unsupported, "{}: {}", json_.where(key), why);
}

void Config::invalid(std::string_view key, std::string_view what) const {
  fail(ErrorCode::InvalidFile, "{}: {}", json_.where(key), what);
}

void Config::require_flag(std::string_view key, bool fallback, bool only) const {
  if (flag(key, fallback) == only) return;
  unsupported(key, fmt::format("{} is not supported", only ? "false" : "true"));
}

void Config::require_absent(std::string_view key) const {
  const auto value = find(key);
  if (!value || is_off(*value, 0)) return;
  unsupported(key, fmt::format("{} is not supported", value->dump().substr(0, 60)));
}

void Config::require_multiple(std::string_view key, int64_t value, std::string_view divisor_key,
                              int64_t divisor) const {
  if (value % divisor == 0) return;
  invalid(key, fmt::format("{} is not a multiple of {} {}", value, divisor_key, divisor));
}

std::optional<Json> Config::layer_object(size_t layer) const {
  const auto layers = json_.find("per_layer_config");
  return layers ? layers->find(std::to_string(layer)) : std::nullopt;
}

Config Config::of_layer(size_t layer) const {
  const auto own = layer_object(layer);
  if (!own) return *this;
  JsonWriter writer;
  writer.begin_object();
  for (const auto& [key, value] : json_.members()) {
    if (!own->contains(key)) writer.key(key).raw(value.dump());
  }
  for (const auto& [key, value] : own->members()) writer.key(key).raw(value.dump());
  writer.end_object();
  Config config = *this;
  config.json_ = Json::parse(writer.text(), own->where());
  return config;
}

Config Config::with_value(std::string_view key, std::string_view value) const {
  JsonWriter writer;
  writer.begin_object();
  for (const auto& [name, member] : json_.members()) {
    if (name != key) writer.key(name).raw(member.dump());
  }
  writer.key(key).raw(value).end_object();
  Config config = *this;
  config.json_ = Json::parse(writer.text(), json_.where());
  return config;
}

Config Config::with_default(std::string_view key, std::string_view value) const {
  return json_.has(key) ? *this : with_value(key, value);
}

Config Config::with_default_rope(std::string_view value) const {
  return json_.has("rope_scaling") ? *this : with_default("rope_parameters", value);
}

bool Config::differs_by_layer(std::initializer_list<std::string_view> keys,
                              size_t num_layers) const {
  const auto layers = find("per_layer_config");
  if (!layers) return false;
  for (const auto& [number, own] : layers->members()) {
    const bool digits = !number.empty() && number.size() < 6 &&
                        number.find_first_not_of("0123456789") == number.npos;
    if (!digits || std::stoul(std::string(number)) >= num_layers) {
      layers->invalid(
          fmt::format("'{}' is not the number of one of {} layers", number, num_layers));
    }
    for (const auto& [key, value] : own.members()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      fail(ErrorCode::Unsupported, "{}: {} for one layer is not supported for this architecture",
           own.where(key), value.dump().substr(0, 60));
    }
  }
  return layers->size() > 0;
}

void Config::ignore(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) read_->emplace(key);
}

void Config::refuse_unread() const {
  for (const auto& member : json_.members()) {
    const std::string_view key = member.first;
    const Json& value = member.second;
    if (read_->contains(key)) continue;
    const auto* const known = std::find_if(std::begin(kMeaningful), std::end(kMeaningful),
                                           [&](const Meaningful& one) { return one.key == key; });
    if (known != std::end(kMeaningful) && !is_off(value, known->off, known->off_flag)) {
      unsupported(key, fmt::format("{} is not supported for this architecture",
                                   value.dump().substr(0, 60)));
    }
    if (known == std::end(kMeaningful)) log_debug("{}: not used", json_.where(key));
  }
}

}  // namespace pippin::models
