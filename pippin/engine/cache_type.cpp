#include "pippin/engine/cache_type.h"

#include "pippin/base/error.h"

namespace pippin::engine {

std::string to_string(CacheType type) {
  return type == CacheType::Q8 ? "q8" : type == CacheType::Q4 ? "q4" : "f16";
}

std::optional<CacheType> cache_type_of(std::string_view name) {
  if (name == "f16") return CacheType::F16;
  if (name == "q8" || name == "q8_0") return CacheType::Q8;
  if (name == "q4" || name == "q4_0") return CacheType::Q4;
  return std::nullopt;
}

CacheType read_cache_type(std::string_view option, std::string_view name) {
  if (const auto type = cache_type_of(name)) return *type;
  fail(ErrorCode::InvalidArgument, "{}: \"{}\" is not f16, q8 or q4", option, name);
}

double cache_bits(CacheType type) {
  return type == CacheType::Q8 ? 8.25 : type == CacheType::Q4 ? 4.5 : 16;
}

}  // namespace pippin::engine
