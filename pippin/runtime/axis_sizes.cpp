#include "pippin/runtime/axis_sizes.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::runtime {

AxisSizes::AxisSizes(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

AxisSizes AxisSizes::of(const mil::Feature& feature, size_t axis) {
  if (!feature.enumerated_shapes.empty()) {
    std::vector<int64_t> sizes;
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size())
        fail(ErrorCode::Unsupported, "'{}' has shapes of several ranks", feature.name);
      sizes.push_back(shape[axis]);
    }
    return AxisSizes(std::move(sizes));
  }
  if (axis < feature.ranges.size()) {
    mil::SizeRange range = feature.ranges[axis];
    if (range.upper < 0) range.upper = std::numeric_limits<int32_t>::max();
    return AxisSizes(range);
  }
  return AxisSizes(std::vector<int64_t>{feature.shape.at(axis)});
}

int64_t AxisSizes::at_most(int64_t limit) const {
  if (sizes_.empty()) return limit < range_.lower ? 0 : std::min(limit, range_.upper);
  const auto above = std::upper_bound(sizes_.begin(), sizes_.end(), limit);
  return above == sizes_.begin() ? 0 : *(above - 1);
}

int64_t AxisSizes::at_least(int64_t limit) const {
  if (sizes_.empty()) return limit > range_.upper ? 0 : std::max(limit, range_.lower);
  const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), limit);
  return found == sizes_.end() ? 0 : *found;
}

AxisSizes AxisSizes::intersect(const AxisSizes& other) const {
  if (sizes_.empty() && other.sizes_.empty()) {
    return AxisSizes(mil::SizeRange{std::max(range_.lower, other.range_.lower),
                                    std::min(range_.upper, other.range_.upper)});
  }
  const AxisSizes& listed = sizes_.empty() ? other : *this;
  const AxisSizes& filter = sizes_.empty() ? *this : other;
  AxisSizes result;
  for (const int64_t size : listed.sizes_) {
    if (filter.contains(size)) result.sizes_.push_back(size);
  }
  return result;
}

std::string AxisSizes::to_string() const {
  if (empty()) return "none";
  if (!sizes_.empty()) return fmt::format("{}", fmt::join(sizes_, " or "));
  if (range_.lower == range_.upper) return fmt::format("{}", range_.lower);
  return fmt::format("{} to {}", range_.lower, range_.upper);
}

}  // namespace pippin::runtime
