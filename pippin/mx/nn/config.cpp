#include "pippin/mx/nn/config.h"

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

}  // namespace

Config Config::load(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  auto json = std::make_shared<const Json>(Json::load(file));
  if (!json->is_object()) fail(ErrorCode::InvalidFile, "{}: no object", file.string());
  return Config(std::move(json));
}

bool Config::has(const std::string& key) const {
  return find(*json_, key).has_value();
}

template <typename T, typename Read>
T Config::read(const std::string& key, const std::optional<T>& otherwise, Read read) const {
  const std::optional<Json> value = find(*json_, key);
  if (value) return static_cast<T>(read(*value));
  if (!otherwise) fail(ErrorCode::InvalidFile, "config.json: {} is absent", key);
  return *otherwise;
}

int64_t Config::integer(const std::string& key, std::optional<int64_t> otherwise) const {
  return read(key, otherwise, [](const Json& json) { return json.as_int(); });
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
