#include "pippin/engine/nodes/planes.h"

#include <algorithm>

namespace pippin::engine {

int64_t WindowAxis::start(int64_t in, int64_t out) const {
  if (!same) return -pad;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + taps.back() + 1 - in);
  return same_lower ? total / 2 - total : -(total / 2);
}

int64_t num_taps(const Windows& windows) {
  int64_t count = 1;
  for (const WindowAxis& axis : windows) count *= static_cast<int64_t>(axis.taps.size());
  return count;
}

bool is_pointwise(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.taps.size() == 1 && axis.stride == 1 && (axis.pad == 0 || axis.same);
  });
}

bool has_channels_last(const View& view) {
  return view.rank() > 2 && view.strides[1] == mil::Dim(1) && !(view.shape[1] == mil::Dim(1));
}

bool has_few_taps(const Windows& windows) {
  constexpr int64_t kMostPointed = 1 << 12;
  return num_taps(windows) <= kMostPointed;
}

bool is_winograd(const Windows& windows) {
  const std::vector<int64_t> one = {0}, three = {0, 1, 2};
  return windows[0].taps == one && windows[0].pad == 0 && windows[0].stride == 1 &&
         std::all_of(windows.begin() + 1, windows.end(), [&](const WindowAxis& axis) {
           return axis.taps == three && axis.stride == 1;
         });
}

}  // namespace pippin::engine
