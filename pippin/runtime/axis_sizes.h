// The sizes that one axis of a declared array may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::runtime {

// A list of sizes, or a range.
class AxisSizes {
 public:
  AxisSizes() = default;
  explicit AxisSizes(mil::SizeRange range) : range_(range) {}
  explicit AxisSizes(std::vector<int64_t> sizes);
  // Reads any form of declaration. Throws Unsupported for shapes of different ranks.
  static AxisSizes of(const mil::Feature& feature, size_t axis);

  bool is_range() const { return sizes_.empty() && range_.upper > range_.lower; }
  int64_t smallest() const { return sizes_.empty() ? range_.lower : sizes_.front(); }
  int64_t largest() const { return sizes_.empty() ? range_.upper : sizes_.back(); }
  bool contains(int64_t size) const { return at_most(size) == size; }
  // The largest size that is at most `limit`; 0 if none exists.
  int64_t at_most(int64_t limit) const;
  // The smallest size that is at least `limit`; 0 if none exists.
  int64_t at_least(int64_t limit) const;
  AxisSizes intersect(const AxisSizes& other) const;
  bool empty() const { return sizes_.empty() && range_.upper < range_.lower; }
  std::string to_string() const;  // "1 to 512", "1 or 64"

 private:
  std::vector<int64_t> sizes_;  // sorted; empty: range_
  mil::SizeRange range_{1, 0};
};

}  // namespace pippin::runtime
