// Settings of the load cache from the environment: its folder and its maximum size.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/io/load_cache.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> non_empty(const Environment& environment, const char* name) {
  auto value = environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

}  // namespace

fs::path load_cache_folder(const Environment& environment) {
  // A subfolder, because other files in the user's folder do not belong to the cache.
  constexpr const char* kName = "load";
  if (const auto chosen = environment("PIPPIN_CACHE")) {
    return chosen->empty() ? fs::path() : fs::absolute(*chosen) / kName;
  }
  if (const auto caches = non_empty(environment, "XDG_CACHE_HOME");
      caches && fs::path(*caches).is_absolute()) {
    return fs::path(*caches) / "pippin" / kName;
  }
  const auto home = non_empty(environment, "HOME");
  if (!home || !fs::path(*home).is_absolute()) return {};
#if defined(__APPLE__)
  return fs::path(*home) / "Library" / "Caches" / "pippin" / kName;
#else
  return fs::path(*home) / ".cache" / "pippin" / kName;
#endif
}

uint64_t load_cache_size(const Environment& environment) {
  const auto text = non_empty(environment, "PIPPIN_CACHE_SIZE");
  if (!text) return 0;
  const size_t digits = std::min(text->find_first_not_of("0123456789.eE+-"), text->size());
  std::string_view unit = std::string_view(*text).substr(digits);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (unit.ends_with('B')) unit.remove_suffix(1);
  static const std::map<std::string_view, double> units = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                                           {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
  const auto scale = units.find(unit);
  double number = 0;
  const bool good = parse_number(text->substr(0, digits), number) && scale != units.end();
  const double bytes = good ? number * scale->second : 0;
  if (!(bytes >= 1) || bytes > 1e18) {
    fail(ErrorCode::InvalidArgument, "PIPPIN_CACHE_SIZE: \"{}\" is not a size such as \"20 GB\"",
         *text);
  }
  return static_cast<uint64_t>(bytes);
}

std::shared_ptr<LoadCache> default_load_cache() {
  const Environment environment = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  const fs::path folder = load_cache_folder(environment);
  if (folder.empty()) return nullptr;
  return std::make_shared<LoadCache>(folder, load_cache_size(environment));
}

}  // namespace pippin
