// The elements of a weight as a matrix of channels and inputs, with the blocks of its encoding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/base/bytes.h"
#include "pippin/compress/encoding.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

class MatrixView {
 public:
  // All other axes have one element. `bytes` must outlive this.
  MatrixView(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding);

  int64_t channels() const { return channels_; }
  int64_t inputs() const { return inputs_; }
  // The size of a block: channels and inputs.
  int64_t group() const { return group_; }
  int64_t block() const { return block_; }
  int64_t num_blocks() const { return channels_ / group_ * (inputs_ / block_); }

  float value_at(int64_t channel, int64_t input) const;
  // The position of an element, and of its code.
  int64_t place(int64_t channel, int64_t input) const {
    return channel * channel_stride_ + input * input_stride_;
  }
  // The number of an element's block, in the order of Encoded's scales and palettes.
  size_t block_index(int64_t channel, int64_t input) const {
    return static_cast<size_t>(channel / group_ * group_stride_ + input / block_ * block_stride_);
  }

 private:
  ByteSpan bytes_;
  mil::DataType type_;
  int64_t channels_, inputs_, channel_stride_, input_stride_;
  int64_t group_, block_, block_stride_, group_stride_;
};

}  // namespace pippin::compress
