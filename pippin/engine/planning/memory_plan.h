// Offsets for values in one arena, by their lifetimes.
#pragma once

#include <cstdint>
#include <vector>

namespace pippin::engine {

// A value's place in the arena: [offset, offset + size) while the steps [first, last] run.
struct ArenaSlot {
  int buffer = 0;
  int64_t size = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0;
};

// Gives every slot an offset so that slots alive at the same time do not overlap; returns the
// arena's size. Offsets and sizes are multiples of 64.
int64_t plan_memory(std::vector<ArenaSlot>& slots);

}  // namespace pippin::engine
