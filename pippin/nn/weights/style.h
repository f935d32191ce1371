// The style of a program for the same model: package families are written for different engines.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"

namespace pippin::nn {

struct Style {
  // The axis of features in values between modules.
  enum class Layout {
    Rows,      // (1, q, features)
    Channels,  // (1, features, 1, q), or (1, features, fold, q / fold)
  };
  Layout layout = Layout::Rows;
  // Linear layers are 1x1 convolutions over channels, the preferred form of the Neural Engine.
  bool convolutions = false;
  // RMS norms are layer norms over [x, -x], whose mean is 0: in fp16 their sums stay in range.
  bool doubled_norms = false;
  // Channels: q is folded into that many rows for convolutions; 0: not folded.
  int64_t fold = 0;

  bool channels() const { return layout == Layout::Channels; }
};

// (1, q, features) as (1, features, 1, q), and back.
array::Array to_channels(const array::Array& x);
array::Array to_rows(const array::Array& x);

// The constant `x` with other dimensions of as many elements; its weight is stored once. Throws
// Unsupported for a compressed one.
array::Array with_dims(const array::Array& x, std::string_view name, std::vector<int64_t> dims);
// Rows [begin, end) of the constant `x`.
array::Array constant_rows(const array::Array& x, std::string_view name, int64_t begin,
                           int64_t end);

}  // namespace pippin::nn
