#include "pippin/mx/nn/config.h"

#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::mx::nn {
namespace {

std::optional<Json> find(const Json& json, const std::string& key) {
  std::optional<Json> place = json;
  for (size_t begin = 0; place && begin <= key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    place = place->find(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return place;
}

int as_int(const Json& json) {
  return static_cast<int>(
      json.as_int(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace

Config Config::load(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  auto json = std::make_shared<const Json>(Json::load(file, kPythonJson));
  if (!json->is_object()) fail(ErrorCode::InvalidFile, "{}: no object", file.string());
  return Config(std::move(json));
}

bool Config::has(const std::string& key) const {
  return find(*json_, key).has_value();
}

template <typename T, typename Read>
T Config::read(const std::string& key, const std::optional<T>& otherwise, Read as) const {
  const std::optional<Json> value = find(*json_, key);
  if (value) return static_cast<T>(as(*value));
  if (!otherwise) fail(ErrorCode::InvalidFile, "config.json: {} is absent", key);
  return *otherwise;
}

int Config::integer(const std::string& key, std::optional<int> otherwise) const {
  return read(key, otherwise, as_int);
}

std::vector<int> Config::integers(const std::string& key,
                                  const std::optional<std::vector<int>>& otherwise) const {
  return read(key, otherwise, [](const Json& json) {
    std::vector<int> result;
    if (!json.is_array()) return std::vector<int>{as_int(json)};
    for (const Json& element : json.elements()) result.push_back(as_int(element));
    return result;
  });
}

double Config::number(const std::string& key, std::optional<double> otherwise) const {
  return read(key, otherwise, [](const Json& json) { return json.as_float(); });
}

bool Config::flag(const std::string& key, std::optional<bool> otherwise) const {
  return read(key, otherwise, [](const Json& json) { return json.as_bool(); });
}

std::string Config::text(const std::string& key,
                         const std::optional<std::string>& otherwise) const {
  return read(key, otherwise, [](const Json& json) { return json.as_string(); });
}

}  // namespace pippin::mx::nn
