#include "pippin/tokenizers/stages.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

constexpr int64_t kMaxStages = 64;
constexpr int64_t kMaxByteLevels = 4;  // each doubles every byte above 7F

// Counts the objects in `json` that have a "type", and those of type "ByteLevel".
void count_stages(const Json& json, int64_t& stages, int64_t& byte_levels) {
  if (json.is_array()) {
    for (const Json& element : json.elements()) count_stages(element, stages, byte_levels);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.members()) {
    if (key == "type") {
      ++stages;
      byte_levels += value.is_string() && value.as_string() == "ByteLevel" ? 1 : 0;
    }
    count_stages(value, stages, byte_levels);
  }
}

}  // namespace

void unsupported_kind(const Json& config, std::string_view role, std::string_view kind) {
  fail(ErrorCode::Unsupported, "{}: the {} '{}' is not supported", config.where(), role, kind);
}

void check_stages(const Json& section) {
  int64_t stages = 0, byte_levels = 0;
  count_stages(section, stages, byte_levels);
  if (stages > kMaxStages || byte_levels > kMaxByteLevels) {
    fail(ErrorCode::LimitExceeded, "{}: {} stages ({} ByteLevel), at most {} ({}) are run",
         section.where(), stages, byte_levels, kMaxStages, kMaxByteLevels);
  }
}

int64_t integer(const Json& value, int64_t min, int64_t max) {
  if (value.is_integer(min, max)) return value.as_int();
  value.invalid(fmt::format("an integer from {} to {} is needed here", min, max));
}

std::string character(const Json& value) {
  const std::string_view text = value.as_string();
  size_t end = 0;
  if (!text.empty()) decode_utf8(text, end);
  if (text.empty() || end != text.size()) value.invalid("one character is needed here");
  return std::string(text);
}

}  // namespace pippin::tokenizers
