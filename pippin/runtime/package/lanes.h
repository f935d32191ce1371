// The lanes of a model's parts that its sequences hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pippin::runtime {

// For models whose caches are inputs: a sequence holds the same lane in every part. Used by one
// thread at a time.
class Lanes {
 public:
  // Returns the first free lane, which its holder must return. Without one, calls
  // reserve(count) for the number of lanes with a further one; after its Error nothing has changed.
  template <typename Reserve>
  size_t take(const Reserve& reserve) {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto lane = static_cast<size_t>(free - taken_.begin());
    if (free == taken_.end()) {
      reserve(lane + 1);
      taken_.push_back(false);
    }
    taken_[lane] = true;
    return lane;
  }
  void give_back(size_t lane) { taken_[lane] = false; }

 private:
  std::vector<bool> taken_;  // by lane
};

}  // namespace pippin::runtime
