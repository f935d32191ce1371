// The sizes of rows in quantized caches.
#pragma once

#include <cstdint>

#include "pippin/engine/cache_type.h"

namespace pippin::engine {

struct CacheRows {
  int64_t group;  // values per scale
  int64_t bytes;  // of a row's codes; 0 if the type cannot store rows of that size
};

// Of a type other than F16, for rows of that many values.
CacheRows cache_rows(CacheType type, int64_t values);

}  // namespace pippin::engine
