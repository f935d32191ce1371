// What every function of a file for one instruction set is: a copy of its own in each caller, which
// no other file can be given.
#pragma once

#include <cstdint>

#define PIPPIN_VEC inline __attribute__((always_inline))

namespace pippin::kernels {
namespace {

// In place of std::min, whose copy the linker might keep for every CPU.
PIPPIN_VEC int64_t smaller_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace pippin::kernels
