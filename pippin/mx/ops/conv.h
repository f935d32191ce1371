// Convolutions, channels last: input [N, ..., C], weight [O, ..., C / groups].
#pragma once

#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// One number per spatial axis. Without `flip` this is the convolution of machine learning.
struct ConvOptions {
  // Empty: 1, or 0 for paddings.
  std::vector<int> stride, padding_low, padding_high, kernel_dilation, input_dilation;
  int groups = 1;
  bool flip = false;
};
PIPPIN_API array conv_general(const array& input, const array& weight,
                              const ConvOptions& options = ConvOptions());
// For one to three spatial axes, depending on the input's rank.
PIPPIN_API array conv(const array& input, const array& weight, const std::vector<int>& stride,
                      const std::vector<int>& padding, const std::vector<int>& dilation,
                      int groups = 1);
PIPPIN_API array conv_transpose(const array& input, const array& weight,
                                const std::vector<int>& stride, const std::vector<int>& padding,
                                const std::vector<int>& dilation,
                                const std::vector<int>& output_padding, int groups = 1);
// Convolves two vectors as NumPy does: mode "full", "same" or "valid".
PIPPIN_API array convolve(const array& a, const array& v, const std::string& mode = "full");

}  // namespace pippin::mx
