// Windows that move over spatial axes, shared by convolution and pooling.
#pragma once

#include <string>

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// Per spatial axis; pad holds two numbers for each, before and after.
struct WindowParams {
  Dims kernel, strides, dilations, pad;
  std::string pad_type;
  bool ceil_mode = false;
};

// The operation's strides, dilations, pad and pad_type with their defaults, checked.
WindowParams window_params(const OpContext& context, Dims kernel);

// The number of windows that fit, per axis.
Shape window_counts(InferContext& context, const WindowParams& params, const Shape& in);

struct WindowGrid {
  Dims counts, pad_begin;
};
WindowGrid window_grid(const EvalContext& context, const WindowParams& params, const Dims& in);

}  // namespace pippin::mil
