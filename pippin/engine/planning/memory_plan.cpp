#include "pippin/engine/planning/memory_plan.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {

// Greedy by size, as in Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference" (2020): the largest first, each at the lowest offset where no slot with an overlapping
// lifetime lies.
int64_t plan_memory(std::vector<ArenaSlot>& slots) {
  std::vector<ArenaSlot*> order;
  for (ArenaSlot& slot : slots) {
    slot.size = align_up<int64_t>(std::max<int64_t>(slot.size, 1), 64);
    order.push_back(&slot);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const ArenaSlot* a, const ArenaSlot* b) { return a->size > b->size; });
  std::vector<ArenaSlot*> placed;  // sorted by offset
  int64_t total = 0;
  for (ArenaSlot* slot : order) {
    int64_t offset = 0;
    for (const ArenaSlot* other : placed) {
      const bool overlaps = slot->first <= other->last && other->first <= slot->last;
      if (!overlaps) continue;
      if (offset + slot->size <= other->offset) break;
      offset = std::max(offset, other->offset + other->size);
    }
    slot->offset = offset;
    total = std::max(total, offset + slot->size);
    const auto place = std::upper_bound(
        placed.begin(), placed.end(), slot,
        [](const ArenaSlot* a, const ArenaSlot* b) { return a->offset < b->offset; });
    placed.insert(place, slot);
  }
  return total;
}

}  // namespace pippin::engine
