#include "pippin/engine/run/step.h"

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {

bool lies_inside(const Operand& operand, int64_t offset, int64_t extent) {
  int64_t low = offset, high = offset;
  for (int i = 0; i < operand.rank; ++i) {
    if (operand.shape[i] < 0) return false;
    if (operand.shape[i] == 0) return true;  // no element is accessed
    const auto reach = checked_mul<int64_t>(operand.shape[i] - 1, operand.strides[i]);
    if (!reach) return false;
    const auto moved = checked_add<int64_t>(*reach < 0 ? low : high, *reach);
    if (!moved) return false;
    (*reach < 0 ? low : high) = *moved;
  }
  return low >= 0 && high < extent;
}

}  // namespace pippin::engine
