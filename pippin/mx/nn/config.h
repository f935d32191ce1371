// A model's config.json, for code that builds modules from it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/export.h"

namespace pippin {
class Json;
}

namespace pippin::mx::nn {

// Values by key; dots separate the keys of nested objects ("rope_scaling.factor"). If a key is
// absent or null, returns the default; without a default, throws InvalidFile with the file's name
// and the key.
class PIPPIN_API Config {
 public:
  // Loads a folder's config.json, or the file itself.
  static Config load(const std::filesystem::path& path);

  bool has(const std::string& key) const;
  int integer(const std::string& key, std::optional<int> otherwise = std::nullopt) const;
  // A list of integers, or a single one.
  std::vector<int> integers(const std::string& key,
                            const std::optional<std::vector<int>>& otherwise = std::nullopt) const;
  double number(const std::string& key, std::optional<double> otherwise = std::nullopt) const;
  bool flag(const std::string& key, std::optional<bool> otherwise = std::nullopt) const;
  std::string text(const std::string& key,
                   const std::optional<std::string>& otherwise = std::nullopt) const;

 private:
  explicit Config(std::shared_ptr<const Json> json) : json_(std::move(json)) {}
  template <typename T, typename Read>
  T read(const std::string& key, const std::optional<T>& otherwise, Read as) const;

  std::shared_ptr<const Json> json_;
};

}  // namespace pippin::mx::nn
