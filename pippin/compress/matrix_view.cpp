#include "pippin/compress/matrix_view.h"

#include <cstring>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {
namespace {

int64_t stride_of(const Dims& dims, size_t axis) {
  int64_t stride = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) stride *= dims[k];
  return stride;
}

}  // namespace

MatrixView::MatrixView(ByteSpan bytes, mil::DataType type, const Dims& dims,
                       const Encoding& encoding)
    : bytes_(bytes),
      type_(type),
      channels_(dims[encoding.channel_axis]),
      inputs_(dims[encoding.input_axis]),
      channel_stride_(stride_of(dims, encoding.channel_axis)),
      input_stride_(stride_of(dims, encoding.input_axis)),
      group_(channels_ / encoding.blocks[encoding.channel_axis]),
      block_(inputs_ / encoding.blocks[encoding.input_axis]),
      block_stride_(stride_of(encoding.blocks, encoding.input_axis)),
      group_stride_(stride_of(encoding.blocks, encoding.channel_axis)) {}

float MatrixView::value_at(int64_t channel, int64_t input) const {
  const auto at = static_cast<size_t>(place(channel, input));
  if (type_ == mil::DataType::Float32) {
    float value;
    std::memcpy(&value, bytes_.data() + at * 4, 4);
    return value;
  }
  float16 value;
  std::memcpy(&value, bytes_.data() + at * 2, 2);
  return to_float(value);
}

}  // namespace pippin::compress
