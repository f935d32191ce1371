#include "pippin/sound/extractor_config.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::sound {

ExtractorConfig::ExtractorConfig(const Json& json) : ConfigKeys(json, "feature_extractor_type") {
  // Names for transformers, and forms of a batch: one recording needs no padding to others.
  for (std::string_view key : {"processor_class", "auto_map", "return_tensors", "feature_size"}) {
    ignore(key);
  }
  sampling_rate_ = integer("sampling_rate", 16000, 1000, 768000);
  const std::string side = text("padding_side", "right");
  if (side != "right") unsupported("padding_side", fmt::format("'{}' (only 'right')", side));
}

void ExtractorConfig::check_derived(std::string_view key, int64_t value, std::string_view formula) {
  ignore(key);
  const auto found = json().find_int(key);
  if (found && *found != value) {
    invalid(key, fmt::format("{} is not {} = {}", *found, formula, value));
  }
}

void ExtractorConfig::check_all_read() const {
  if (json().has("image_processor_type")) return;
  for (const auto& [key, value] : json().members()) {
    if (!was_read(key)) {
      fail(ErrorCode::Unsupported, "{}: {} has no such key", json().where(key), type());
    }
  }
}

}  // namespace pippin::sound
