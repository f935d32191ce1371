// Where the load cache is and how large it may become, by the environment.
#include <charconv>
#include <cstdlib>

#include "pippin/base/error.h"
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
  // A folder of its own below: what else lies in a folder that was named is not the cache's.
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
  double number = 0;
  const char* const end = text->data() + text->size();
  auto [at, error] = std::from_chars(text->data(), end, number);
  while (at != end && *at == ' ') ++at;
  double unit = 1;
  if (at != end) {
    switch (*at++) {
      case 'k':
      case 'K':
        unit = 1e3;
        break;
      case 'M':
        unit = 1e6;
        break;
      case 'G':
        unit = 1e9;
        break;
      case 'T':
        unit = 1e12;
        break;
      case 'B':
        --at;
        break;
      default:
        unit = 0;
    }
    if (at != end && *at == 'B') ++at;
  }
  const double bytes = number * unit;
  if (error != std::errc() || at != end || !(bytes >= 1) || bytes > 1e18) {
    fail(ErrorCode::InvalidArgument, "PIPPIN_CACHE_SIZE: \"{}\" is no size such as \"20 GB\"",
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
