#include "pippin/compress/block_grid.h"

#include <algorithm>

namespace pippin::compress {

BlockGrid::BlockGrid(const Dims& dims, const Dims& blocks) {
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    const int64_t box = dims[k] / blocks[k];
    num_blocks_ *= blocks[k];
    block_elements_ *= box;
    if (!axes_.empty() && axes_.back().blocks == 1) {  // in reverse: the axis to the right
      Axis& inner = axes_.back();
      inner = {blocks[k], box * inner.box, inner.stride};
    } else {
      axes_.push_back({blocks[k], box, stride});
    }
    stride *= dims[k];
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  std::reverse(axes_.begin(), axes_.end());
}

}  // namespace pippin::compress
