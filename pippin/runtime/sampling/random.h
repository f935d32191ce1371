// Random numbers that are the same on every platform.
#pragma once

#include <cstdint>

#include "pippin/base/export.h"

namespace pippin::runtime {

// xoshiro256**, seeded through splitmix64 (Blackman and Vigna, "Scrambled Linear Pseudorandom
// Number Generators", 2018).
class PIPPIN_API RandomGenerator {
 public:
  // Starts the sequence of a seed.
  explicit RandomGenerator(uint64_t seed);
  // Returns the next 64 random bits.
  uint64_t next();
  // Returns a number evenly distributed in [0, 1), of 53 random bits.
  double uniform();

 private:
  uint64_t state_[4];
};

}  // namespace pippin::runtime
