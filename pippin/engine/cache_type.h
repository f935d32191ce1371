// The forms in which a sequence's keys and values are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/export.h"

namespace pippin::engine {

// The form of a cache of keys and values.
enum class CacheType : uint8_t {
  F16,  // as the program declares them
  Q8,   // 8 bits, with a scale for 64 values: 8.25 bits per value
  Q4,   // 4 bits, with a scale for 32 values: 4.5 bits per value, after a rotation
};

// Returns "f16", "q8" or "q4".
PIPPIN_API std::string to_string(CacheType type);
// Returns the type of a name: those above, and q8_0 and q4_0. Nothing for other names.
PIPPIN_API std::optional<CacheType> cache_type_of(std::string_view name);
// Returns the same. Throws InvalidArgument with the option's name and the known ones.
PIPPIN_API CacheType read_cache_type(std::string_view option, std::string_view name);
// Returns the bits of a value, with its part of a scale, in rows of a multiple of 64 values.
PIPPIN_API double cache_bits(CacheType type);

}  // namespace pippin::engine
