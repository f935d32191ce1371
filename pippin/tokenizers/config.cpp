#include "pippin/tokenizers/config.h"

#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

constexpr std::string_view kRoot = ": ";  // how the place of the whole file ends

constexpr int64_t kMaxStages = 64;
constexpr int64_t kMaxByteLevels = 4;  // each makes two bytes of every byte above 7F

// The objects in `node` that have a "type", and those of type "ByteLevel".
void count_stages(const nlohmann::json& node, int64_t& stages, int64_t& byte_levels) {
  if (node.is_object()) {
    const auto type = node.find("type");
    if (type != node.end()) {
      ++stages;
      byte_levels += *type == "ByteLevel" ? 1 : 0;
    }
  }
  if (!node.is_structured()) return;
  for (const auto& part : node) count_stages(part, stages, byte_levels);
}

}  // namespace

void check_stages(const Config& section) {
  int64_t stages = 0, byte_levels = 0;
  count_stages(section.node(), stages, byte_levels);
  if (stages > kMaxStages || byte_levels > kMaxByteLevels) {
    fail(ErrorCode::LimitExceeded, "{}: {} stages ({} ByteLevel), at most {} ({}) are run",
         section.place(), stages, byte_levels, kMaxStages, kMaxByteLevels);
  }
}

bool Config::is_null() const {
  return node_->is_null();
}

bool Config::has(std::string_view key) const {
  if (!node_->is_object()) return false;
  const auto found = node_->find(key);
  return found != node_->end() && !found->is_null();
}

Config Config::at(std::string_view key) const {
  if (!node_->is_object()) invalid("an object is needed here");
  const auto found = node_->find(key);
  if (found == node_->end()) {
    invalid(fmt::format("the key '{}' is missing", key));
  }
  const char* dot = place_.ends_with(kRoot) ? "" : ".";
  return {*found, fmt::format("{}{}{}", place_, dot, key)};
}

std::vector<Config> Config::elements() const {
  if (!node_->is_array()) invalid("an array is needed here");
  std::vector<Config> result;
  for (size_t i = 0; i < node_->size(); ++i) {
    result.emplace_back((*node_)[i], fmt::format("{}[{}]", place_, i));
  }
  return result;
}

std::vector<std::string> Config::keys() const {
  if (!node_->is_object()) invalid("an object is needed here");
  std::vector<std::string> result;
  for (auto entry = node_->begin(); entry != node_->end(); ++entry) result.push_back(entry.key());
  return result;
}

std::string Config::as_string() const {
  if (!node_->is_string()) invalid("a string is needed here");
  return node_->get<std::string>();
}

bool Config::as_bool() const {
  if (!node_->is_boolean()) invalid("true or false is needed here");
  return node_->get<bool>();
}

int64_t Config::as_integer(int64_t min, int64_t max) const {
  if (node_->is_number_unsigned()) {
    const auto value = node_->get<uint64_t>();
    if (value <= static_cast<uint64_t>(INT64_MAX)) {
      const auto number = static_cast<int64_t>(value);
      if (number >= min && number <= max) return number;
    }
  } else if (node_->is_number_integer()) {
    const auto number = node_->get<int64_t>();
    if (number >= min && number <= max) return number;
  }
  fail(ErrorCode::InvalidFile, "{}: an integer from {} to {} is needed here", place_, min, max);
}

bool Config::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

std::optional<std::string> Config::optional_string(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return string(key);
}

std::string Config::character(std::string_view key) const {
  const Config value = at(key);
  std::string text = value.as_string();
  size_t end = 0;
  if (!text.empty()) decode_utf8(text, end);
  if (text.empty() || end != text.size()) value.invalid("one character is needed here");
  return text;
}

void Config::invalid(std::string_view message) const {
  const char* colon = place_.ends_with(kRoot) ? "" : ": ";
  fail(ErrorCode::InvalidFile, "{}{}{}", place_, colon, message);
}

void Config::unsupported_kind(std::string_view role, std::string_view kind) const {
  fail(ErrorCode::Unsupported, "{}: the {} '{}' is not supported", place_, role, kind);
}

}  // namespace pippin::tokenizers
