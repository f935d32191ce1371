// The keys of a configuration of Hugging Face's: each has a default and limits, and the keys that
// were read are known, so that the caller can reject others.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/io/json.h"

namespace pippin {

class ConfigKeys {
 public:
  // `type_key` names the member with the class of the configuration. Throws InvalidFile if `json`
  // is not an object with it.
  ConfigKeys(const Json& json, std::string_view type_key);

  const std::string& type() const { return type_; }

  // Each marks the key as read. A missing key and null give the fallback. Throws InvalidFile for a
  // value of another type or outside the limits.
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max);
  double number(std::string_view key, double fallback, double min, double max);
  std::string text(std::string_view key, std::string_view fallback);
  bool flag(std::string_view key, bool fallback);

  // Marks a key that does not change the result.
  void ignore(std::string_view key);
  // Throws Unsupported unless the key is missing, null or has this value.
  void require_number(std::string_view key, double value);
  void require_flag(std::string_view key, bool value);
  bool was_read(std::string_view key) const { return read_.contains(key); }

  // Throws InvalidFile or Unsupported: the place of the key, followed by `what`.
  [[noreturn]] void invalid(std::string_view key, std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view what) const;
  // For values of other types; ignore() marks their keys.
  const Json& json() const { return json_; }

 protected:
  // Replaces the class by the current name of the same one.
  void rename_type(std::string type) { type_ = std::move(type); }

 private:
  Json json_;
  std::string type_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace pippin
