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

// Values of a config.json by key; dots separate the keys of nested objects ("rope_scaling.factor").
// If a key is absent or null, returns the default; without a default, throws InvalidFile with the
// key. A value of another type throws InvalidFile with the file's name and the key.
class PIPPIN_API Config {
 public:
  // Loads a folder's config.json, or the file itself. Throws NotFound, Io, or InvalidFile if it is
  // not a JSON object.
  static Config load(const std::filesystem::path& path);

  // Returns whether the key has a value other than null.
  bool has(const std::string& key) const;
  // Returns an integer of 32 bits.
  int integer(const std::string& key, std::optional<int> otherwise = std::nullopt) const;
  // Returns a list of integers of 32 bits; a single one becomes a list.
  std::vector<int> integers(const std::string& key,
                            const std::optional<std::vector<int>>& otherwise = std::nullopt) const;
  // Returns a number.
  double number(const std::string& key, std::optional<double> otherwise = std::nullopt) const;
  // Returns true or false.
  bool flag(const std::string& key, std::optional<bool> otherwise = std::nullopt) const;
  // Returns a string.
  std::string text(const std::string& key,
                   const std::optional<std::string>& otherwise = std::nullopt) const;

 private:
  explicit Config(std::shared_ptr<const Json> json) : json_(std::move(json)) {}
  template <typename T, typename Read>
  T read(const std::string& key, const std::optional<T>& otherwise, Read as) const;

  std::shared_ptr<const Json> json_;
};

}  // namespace pippin::mx::nn
