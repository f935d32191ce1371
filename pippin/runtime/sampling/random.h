// Random numbers that are the same on every platform.
#pragma once

#include <cstdint>

#include "pippin/base/export.h"

namespace pippin::runtime {

// xoshiro256**, seeded through splitmix64 (Blackman and Vigna).
class PIPPIN_API RandomGenerator {
 public:
  explicit RandomGenerator(uint64_t seed);
  uint64_t next();
  double uniform();  // in [0, 1), 53 bits

 private:
  uint64_t state_[4];
};

}  // namespace pippin::runtime
