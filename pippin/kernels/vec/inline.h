// Force-inlines every function in files compiled for one instruction set, so that the linker cannot
// share such a copy with other files.
#pragma once

#include <cstdint>

#define PIPPIN_VEC inline __attribute__((always_inline))

namespace pippin::kernels {
namespace {

// Used instead of std::min, whose ISA-specific copy the linker might keep for every CPU.
PIPPIN_VEC int64_t smaller_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace pippin::kernels
