// The keys of a preprocessor_config.json: each has a default and limits, and a key that no rule
// reads is an error, because it could change the result.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "pippin/io/json.h"

namespace pippin::sound {

class ExtractorConfig {
 public:
  explicit ExtractorConfig(const Json& json);

  const std::string& type() const { return type_; }
  int64_t sampling_rate() const { return sampling_rate_; }

  // Each marks the key as read. A missing key and null give the fallback.
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max);
  double number(std::string_view key, double fallback, double min, double max);
  std::string text(std::string_view key, std::string_view fallback);
  bool flag(std::string_view key, bool fallback);

  // Marks a key that does not change the result.
  void ignore(std::string_view key);
  // Throws Unsupported unless the key is missing, null or has this value.
  void require_number(std::string_view key, double value);
  void require_flag(std::string_view key, bool value);
  // Throws InvalidFile unless the key is missing, null or has this value, which follows from other
  // keys.
  void check_derived(std::string_view key, int64_t value, std::string_view formula);

  // Throws Unsupported for a key that was not read, except in a file that also describes a
  // processor of pictures (Gemma 3n's).
  void check_all_read() const;
  // Throws InvalidFile or Unsupported: the place of the key, followed by `what`.
  [[noreturn]] void invalid(std::string_view key, std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view what) const;
  // For values of other types; ignore() marks their keys.
  const Json& json() const { return json_; }

 private:
  Json json_;
  std::set<std::string, std::less<>> read_;
  std::string type_;
  int64_t sampling_rate_ = 0;
};

}  // namespace pippin::sound
