#include "pippin/compress/encoding.h"

#include <algorithm>

namespace pippin::compress {

mil::DataType Encoding::code_type() const {
  if (form == Form::Linear) return linear.data;
  switch (bits) {
    case 1:
      return mil::DataType::UInt1;
    case 2:
      return mil::DataType::UInt2;
    case 3:
      return mil::DataType::UInt3;
    case 4:
      return mil::DataType::UInt4;
    case 6:
      return mil::DataType::UInt6;
    default:
      return mil::DataType::UInt8;
  }
}

Dims Encoding::lut_blocks(const Dims& dims) const {
  Dims result = blocks;
  if (channel_scale) result[channel_axis] = dims[channel_axis];
  return result;
}

int64_t pruned_of_group(int64_t n, int64_t m, int64_t size) {
  return std::max<int64_t>(0, n - (m - size));
}

}  // namespace pippin::compress
