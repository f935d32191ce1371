// Convolutions, channels last: input [N, ..., C], weight [O, ..., C / groups], for one to three
// spatial axes.
//
// The result is [N, ..., O], of the promoted type, for integers float32; sums are float32. Along a
// spatial axis of size n and kernel size k the output has ⌊(n + padding_low + padding_high -
// kernel_dilation (k - 1) - 1) / stride⌋ + 1 elements. Shapes that do not fit, kernels larger than
// the padded input, and numbers out of range throw InvalidArgument.
#pragma once

#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// The options of conv_general(). Each list has a number per spatial axis, or one for all.
struct ConvOptions {
  // Steps between output positions (default 1); zeros added before and after (default 0, and as
  // before; negative: elements are cut off); distances between elements of the kernel and of the
  // input, which is spread by zeros (default 1).
  std::vector<int> stride, padding_low, padding_high, kernel_dilation, input_dilation;
  int groups = 1;  // groups of input and output channels that are convolved separately
  // Whether the kernel is applied backwards, as in mathematics; false: as in machine learning.
  bool flip = false;
};
// Returns the convolution of `input` with `weight`.
PIPPIN_API array conv_general(const array& input, const array& weight,
                              const ConvOptions& options = ConvOptions());
// Returns conv_general() with the same padding on both sides; an empty list means the default.
PIPPIN_API array conv(const array& input, const array& weight, const std::vector<int>& stride,
                      const std::vector<int>& padding, const std::vector<int>& dilation,
                      int groups = 1);
// Returns the transposed convolution: along a spatial axis of size n and kernel size k, (n - 1)
// stride - 2 padding + dilation (k - 1) + output_padding + 1 elements; `weight` is [O, ..., C /
// groups].
PIPPIN_API array conv_transpose(const array& input, const array& weight,
                                const std::vector<int>& stride, const std::vector<int>& padding,
                                const std::vector<int>& dilation,
                                const std::vector<int>& output_padding, int groups = 1);
// Returns the convolution of two vectors as NumPy: mode "full" (n + m - 1 elements), "same" (the
// middle of it, max(n, m) elements) or "valid" (|n - m| + 1, where they overlap completely). Throws
// InvalidArgument for other modes, other ranks, and vectors without elements.
PIPPIN_API array convolve(const array& a, const array& v, const std::string& mode = "full");

}  // namespace pippin::mx
