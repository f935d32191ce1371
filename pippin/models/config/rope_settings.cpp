#include "pippin/models/config/rope_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace pippin::models {
namespace {

// Settings that some kinds of rope use and the others ignore, and some that do not concern texts:
// the sections of positions in pictures, notes about the training.
constexpr std::array<std::string_view, 20> kHarmless = {
    "rope_type",       "type",
    "rope_theta",      "partial_rotary_factor",
    "factor",          "original_max_position_embeddings",
    "beta_fast",       "beta_slow",
    "mscale",          "mscale_all_dim",
    "truncate",        "attention_factor",
    "low_freq_factor", "high_freq_factor",
    "short_factor",    "long_factor",
    "mrope_section",   "mrope_interleaved",
    "finetuned",       "max_position_embeddings",
};

Json no_settings() {
  return Json::parse("{}", "config.json");
}

bool is_by_kind(const Json& object) {
  const auto members = object.members();
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return member.second.is_object(); });
}

// The object of a kind of layers; null if it has no separate settings.
Json of_kind(const Json& kinds, std::string_view kind) {
  std::optional<Json> found;
  const Json first = kinds.members().front().second;
  for (const auto& [name, object] : kinds.members()) {
    const Config where(kinds);
    if (kind.empty() ? object.dump() != first.dump()
                     : name != kFullLayers && name != kSlidingLayers) {
      where.unsupported(name,
                        "a rope for this kind of layers is not supported for this architecture");
    }
    if (!object.is_object() && !object.is_null()) where.invalid(name, "not an object");
    if (kind.empty() || name == kind) found = object;
  }
  return found && found->is_object() ? *found : no_settings();
}

}  // namespace

RopeSettings::RopeSettings(const Config& config, std::string_view kind) : object_(no_settings()) {
  const auto scaling = config.find("rope_scaling"), parameters = config.find("rope_parameters");
  if (!scaling && !parameters) return;
  has_object_ = true;
  older_ = scaling.has_value();
  const Json object = scaling.value_or(parameters.value_or(no_settings()));
  if (!object.is_object())
    config.invalid(older_ ? "rope_scaling" : "rope_parameters", "not an object");
  by_kind_ = is_by_kind(object);
  absent_ = by_kind_ && !kind.empty() && object.contains(kind) && !object.has(kind);
  object_ = Config(by_kind_ ? of_kind(object, kind) : object);
  if (scaling && parameters && !is_by_kind(*parameters)) parameters_.emplace(*parameters);
}

double RopeSettings::theta(double fallback) const {
  if (parameters_) fallback = parameters_->number("rope_theta", fallback);
  return object_.number("rope_theta", fallback);
}

double RopeSettings::rotary_factor(double fallback) const {
  if (parameters_) fallback = parameters_->number("partial_rotary_factor", fallback);
  return object_.number("partial_rotary_factor", fallback);
}

void RopeSettings::require_whole_heads(double also_whole) const {
  const double factor = rotary_factor(1.0);
  if (factor == 1.0 || std::abs(factor - also_whole) < 1e-3) return;
  object_.unsupported("partial_rotary_factor",
                      fmt::format("{} is not supported for this architecture", factor));
}

void RopeSettings::refuse_unread(const std::vector<std::string_view>& known) const {
  for (const Config* settings : {&object_, parameters_ ? &*parameters_ : nullptr}) {
    if (settings == nullptr) continue;
    for (const auto& [key, value] : settings->json().members()) {
      const bool harmless = std::count(kHarmless.begin(), kHarmless.end(), key) > 0 ||
                            std::count(known.begin(), known.end(), key) > 0;
      if (!harmless && !settings->was_read(key)) settings->require_absent(key);
    }
  }
}

}  // namespace pippin::models
