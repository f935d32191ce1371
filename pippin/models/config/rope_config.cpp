// Reads rope_scaling and rope_parameters.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"

namespace pippin::models {
namespace {

using nn::RopeScaling;

double required(const Config& object, std::string_view key) {
  const auto value = object.find_number(key);
  if (!value) object.invalid(key, "missing");
  return *value;
}

double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

void read_llama3(const Config& object, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::Llama3;
  scaling.factor = required(object, "factor");
  scaling.low_frequency_factor = object.number("low_freq_factor", 1.0);
  scaling.high_frequency_factor = object.number("high_freq_factor", 4.0);
  const auto original = object.find_size("original_max_position_embeddings", kMaxContext);
  if (!original) object.invalid("original_max_position_embeddings", "missing");
  scaling.original_context = *original;
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
    object.invalid("high_freq_factor",
                   fmt::format("{} is not above low_freq_factor {}", scaling.high_frequency_factor,
                               scaling.low_frequency_factor));
  }
}

void read_yarn(const Config& object, int64_t context, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::Yarn;
  scaling.factor = required(object, "factor");
  scaling.original_context = object.size("original_max_position_embeddings", context, kMaxContext);
  scaling.fast_turns = object.number("beta_fast", 32.0);
  scaling.slow_turns = object.number("beta_slow", 1.0);
  scaling.whole_dims = object.flag("truncate", true);
  const auto scale = object.find("mscale"), all_dims = object.find("mscale_all_dim");
  double attention = yarn_magnitude(scaling.factor, 1.0);
  if (scale && all_dims && scale->as_float() != 0 && all_dims->as_float() != 0) {
    attention = yarn_magnitude(scaling.factor, scale->as_float()) /
                yarn_magnitude(scaling.factor, all_dims->as_float());
  }
  scaling.attention_factor = object.number("attention_factor", attention);
}

void read_longrope(const Config& config, const Config& object, int64_t context, int64_t dims,
                   bool older, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::LongRope;
  const auto factors = [&](std::string_view key) {
    const auto list = object.find(key);
    if (!list) object.invalid(key, "missing");
    return object.numbers(key, dims / 2, 1.0);
  };
  scaling.short_factors = factors("short_factor");
  scaling.long_factors = factors("long_factor");
  // Next to rope_scaling, or in it.
  auto original = config.find_size("original_max_position_embeddings", kMaxContext);
  const auto inside = object.find_size("original_max_position_embeddings", kMaxContext);
  if (!original) original = inside;
  scaling.original_context = original.value_or(context);
  // The older form's factor is not used if the two contexts are given.
  const auto factor = object.find_number("factor");
  scaling.factor = factor.value_or(1.0);
  if (original && (older || !factor)) {
    scaling.factor = static_cast<double>(context) / static_cast<double>(*original);
  }
  double attention = 1.0;
  if (scaling.factor > 1) {
    attention = std::sqrt(1 + std::log(scaling.factor) /
                                  std::log(static_cast<double>(scaling.original_context)));
  }
  scaling.attention_factor = object.number("attention_factor", attention);
}

// A part of all dimensions' frequencies, which are those of whole heads.
void read_proportional(const Config& object, int64_t dims, double part, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::Proportional;
  scaling.factor = object.number("factor", 1.0);
  scaling.turned = static_cast<int64_t>(part * static_cast<double>(dims)) / 2;
  if (part > 1) object.invalid("partial_rotary_factor", fmt::format("{} is above 1", part));
}

}  // namespace

nn::RopeOptions rope_options(const Config& config, int64_t dims, const RopeDefaults& defaults) {
  const RopeSettings settings(config, defaults.kind);
  const bool proportional = settings.is_proportional();
  if (defaults.rotary_factor == 0 && !proportional) {
    settings.require_whole_heads(defaults.also_whole);
  }
  nn::RopeOptions rope;
  rope.dims = dims;
  rope.theta = settings.theta(config.number("rope_theta", defaults.theta));
  if (!settings.has_object()) return rope;
  const Config& object = settings.object();
  const int64_t context = config.size("max_position_embeddings", 2048, kMaxContext);
  const std::string kind = object.text("rope_type", object.text("type", "default"));
  RopeScaling& scaling = rope.scaling;
  // "su" is longrope's first name; Phi-3's configurations of April 2024 use "yarn".
  const bool phi_yarn = kind == "yarn" && object.find("short_factor");
  if (kind == "linear") {
    scaling.kind = RopeScaling::Kind::Linear;
    scaling.factor = required(object, "factor");
  } else if (kind == "llama3") {
    read_llama3(object, scaling);
  } else if (kind == "longrope" || kind == "su" || phi_yarn) {
    read_longrope(config, object, context, dims, settings.older(), scaling);
  } else if (kind == "yarn") {
    read_yarn(object, context, scaling);
  } else if (kind == "dynamic") {
    scaling.kind = RopeScaling::Kind::Dynamic;
    scaling.factor = required(object, "factor");
    scaling.original_context = context;
    if (dims <= 2) config.invalid("head_dim", "too small for dynamic rope scaling");
    if (const auto alpha = object.find_number("alpha")) {
      // Hunyuan's: one larger theta for all lengths.
      const auto size = static_cast<double>(dims);
      rope.theta *= std::pow(*alpha, size / (size - 2));
      scaling = {};
    }
  } else if (proportional) {
    const double usual = defaults.rotary_factor > 0 ? defaults.rotary_factor : 1.0;
    const double given = config.number("partial_rotary_factor", usual);
    read_proportional(object, dims, settings.rotary_factor(given), scaling);
  } else if (kind != "default" && kind != "mrope") {  // the latter: read_sections()
    object.unsupported("rope_type", fmt::format("'{}' is not supported (known: default, linear, "
                                                "llama3, yarn, dynamic, longrope, proportional)",
                                                kind));
  }
  settings.refuse_unread(defaults.keys);
  return rope;
}

void read_sections(const Config& config, nn::DecoderOptions& model,
                   const std::vector<int64_t>& fallback, bool interleaved) {
  const RopeSettings settings(config);
  const auto given = settings.object().find("mrope_section");
  const std::vector<int64_t> sections = given ? given->as_ints() : fallback;
  const bool own = settings.object().flag("mrope_interleaved", interleaved);
  for (nn::RopeOptions& rope : model.ropes) {
    const bool fits = sections.size() == 3 && sections[0] > 0 && sections[1] >= 0 &&
                      sections[2] >= 0 && sections[0] <= rope.dims && sections[1] <= rope.dims &&
                      sections[2] <= rope.dims &&
                      sections[0] + sections[1] + sections[2] == rope.dims / 2;
    if (!fits) {
      settings.object().invalid("mrope_section",
                                fmt::format("[{}] are not three parts of {} frequencies",
                                            fmt::join(sections, ", "), rope.dims / 2));
    }
    std::copy(sections.begin(), sections.end(), rope.sections.begin());
    rope.interleaved = own;
  }
}

nn::RopeOptions sliding_rope(const Config& config, int64_t dims, double theta) {
  const bool own = RopeSettings(config, kSlidingLayers).by_kind();
  if (!own) return {.dims = dims, .theta = theta};
  return rope_options(config, dims, {.theta = theta, .kind = kSlidingLayers});
}

}  // namespace pippin::models
