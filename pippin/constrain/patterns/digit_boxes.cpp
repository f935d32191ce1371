#include "pippin/constrain/patterns/digit_boxes.h"

namespace pippin::constrain {

std::vector<DigitBox> digit_boxes(uint64_t first, uint64_t last, int positions, uint64_t radix) {
  if (first > last) return {};
  const auto digit = [](uint64_t value) { return static_cast<uint32_t>(value); };
  if (positions == 1) return {{{digit(first), digit(last)}}};
  uint64_t unit = 1;
  for (int i = 1; i < positions; ++i) unit *= radix;
  uint64_t low = first / unit;
  const uint64_t high = last / unit;
  std::vector<DigitBox> boxes;
  const auto add = [&](uint64_t from, uint64_t to, uint64_t rest_first, uint64_t rest_last) {
    for (DigitBox& rest : digit_boxes(rest_first, rest_last, positions - 1, radix)) {
      DigitBox box{{digit(from), digit(to)}};
      box.insert(box.end(), rest.begin(), rest.end());
      boxes.push_back(std::move(box));
    }
  };
  if (low == high) {
    add(low, low, first % unit, last % unit);
    return boxes;
  }
  // Partial ranges for the first and the last digit, and full ranges for the digits between.
  uint64_t end = high;
  if (first % unit != 0) {
    add(low, low, first % unit, unit - 1);
    ++low;
  }
  const bool last_is_whole = last % unit == unit - 1;
  if (last_is_whole) ++end;
  if (low < end) add(low, end - 1, 0, unit - 1);
  if (!last_is_whole) add(high, high, 0, last % unit);
  return boxes;
}

}  // namespace pippin::constrain
