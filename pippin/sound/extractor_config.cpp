#include "pippin/sound/extractor_config.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::sound {

ExtractorConfig::ExtractorConfig(const Json& json) : json_(json) {
  if (!json.is_object()) json.invalid("expected an object");
  type_ = json.get_string("feature_extractor_type");
  // Names for transformers, and forms of a batch: one recording needs no padding to others.
  for (std::string_view key : {"feature_extractor_type", "processor_class", "auto_map",
                               "return_tensors", "feature_size"}) {
    ignore(key);
  }
  sampling_rate_ = integer("sampling_rate", 16000, 1000, 768000);
  if (const auto side = json_.find_string("padding_side"); side && *side != "right") {
    unsupported("padding_side", fmt::format("'{}' (only 'right')", *side));
  }
  ignore("padding_side");
}

int64_t ExtractorConfig::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
  ignore(key);
  const auto found = json_.find(key);
  return found ? found->as_int(min, max) : fallback;
}

double ExtractorConfig::number(std::string_view key, double fallback, double min, double max) {
  ignore(key);
  const double value = json_.get_float_or(key, fallback);
  if (value >= min && value <= max) return value;
  invalid(key, fmt::format("{} is not between {} and {}", value, min, max));
}

std::string ExtractorConfig::text(std::string_view key, std::string_view fallback) {
  ignore(key);
  return json_.get_string_or(key, fallback);
}

bool ExtractorConfig::flag(std::string_view key, bool fallback) {
  ignore(key);
  return json_.get_bool_or(key, fallback);
}

void ExtractorConfig::ignore(std::string_view key) {
  read_.emplace(key);
}

void ExtractorConfig::require_number(std::string_view key, double value) {
  ignore(key);
  const double found = json_.get_float_or(key, value);
  if (found != value) unsupported(key, fmt::format("{} (only {})", found, value));
}

void ExtractorConfig::require_flag(std::string_view key, bool value) {
  if (flag(key, value) != value) unsupported(key, value ? "false" : "true");
}

void ExtractorConfig::check_derived(std::string_view key, int64_t value, std::string_view formula) {
  ignore(key);
  const auto found = json_.find_int(key);
  if (found && *found != value) {
    invalid(key, fmt::format("{} is not {} = {}", *found, formula, value));
  }
}

void ExtractorConfig::check_all_read() const {
  if (json_.has("image_processor_type")) return;
  for (const auto& [key, value] : json_.members()) {
    if (!read_.contains(key)) {
      fail(ErrorCode::Unsupported, "{}: {} has no such key", json_.where(key), type_);
    }
  }
}

void ExtractorConfig::invalid(std::string_view key, std::string_view what) const {
  fail(ErrorCode::InvalidFile, "{}: {}", json_.where(key), what);
}

void ExtractorConfig::unsupported(std::string_view key, std::string_view what) const {
  fail(ErrorCode::Unsupported, "{}: {} is not supported for {}", json_.where(key), what, type_);
}

}  // namespace pippin::sound
