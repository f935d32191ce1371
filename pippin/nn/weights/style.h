// How a program spells the same model: the families of packages differ in what their engines like.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"

namespace pippin::nn {

struct Style {
  // Where the features of what flows between modules lie.
  enum class Layout {
    Rows,      // (1, q, features)
    Channels,  // (1, features, 1, q), or (1, features, fold, q / fold)
  };
  Layout layout = Layout::Rows;
  // Linear layers are 1x1 convolutions over channels, the form that the Neural Engine likes.
  bool convolutions = false;
  // RMS norms are layer norms over [x, -x], whose mean is 0: in fp16 their sums stay in range.
  bool doubled_norms = false;
  // Channels: q is folded into that many rows where convolutions run; 0: it is not.
  int64_t fold = 0;

  bool channels() const { return layout == Layout::Channels; }
};

// (1, q, features) as (1, features, 1, q), and back.
array::Array to_channels(const array::Array& x);
array::Array to_rows(const array::Array& x);

// The constant `x` with other dimensions of as many elements; its weight is stored once. Throws
// Unsupported for one that is compressed.
array::Array with_dims(const array::Array& x, std::string_view name, std::vector<int64_t> dims);
// Rows [begin, end) of the constant `x`.
array::Array constant_rows(const array::Array& x, std::string_view name, int64_t begin,
                           int64_t end);

}  // namespace pippin::nn
