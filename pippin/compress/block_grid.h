// A tensor divided into equal boxes, and the positions of a box's elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pippin::compress {

using Dims = std::vector<int64_t>;

class BlockGrid {
 public:
  // blocks[k] boxes along axis k; each divides dims[k]. Boxes are numbered row-major.
  BlockGrid(const Dims& dims, const Dims& blocks);

  int64_t num_blocks() const { return num_blocks_; }
  int64_t block_elements() const { return block_elements_; }

  // Whether box i is the elements [i, i + 1) * block_elements().
  bool is_flat() const {
    for (size_t k = 0; k + 1 < axes_.size(); ++k) {
      if (axes_[k].box != 1) return false;
    }
    return true;
  }

  // Calls visit(offset, count) for the contiguous ranges that make up a box, in order.
  template <typename Visit>
  void for_each_run(int64_t block, Visit&& visit) const {
    int64_t offset = 0;
    for (size_t k = axes_.size(); k-- > 0;) {
      offset += block % axes_[k].blocks * axes_[k].box * axes_[k].stride;
      block /= axes_[k].blocks;
    }
    walk(0, offset, visit);
  }

 private:
  struct Axis {
    int64_t blocks, box, stride;
  };

  template <typename Visit>
  void walk(size_t axis, int64_t offset, Visit& visit) const {
    if (axis + 1 == axes_.size()) return visit(offset, axes_[axis].box);
    for (int64_t i = 0; i < axes_[axis].box; ++i) {
      walk(axis + 1, offset + i * axes_[axis].stride, visit);
    }
  }

  std::vector<Axis> axes_;  // the last has stride 1; axes that boxes cover completely are merged
  int64_t num_blocks_ = 1, block_elements_ = 1;
};

}  // namespace pippin::compress
