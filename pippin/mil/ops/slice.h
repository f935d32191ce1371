// The slices of slice_by_index and slice_update.
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// One axis of a slice, in numbers: `count` elements from `start` on, `stride` apart.
struct SliceAxis {
  int64_t start = 0;
  int64_t count = 0;
  int64_t stride = 1;
  bool squeezed = false;
};

// numpy's basic slicing of a tensor of this shape by the operation's begin, end, stride and masks.
std::vector<SliceAxis> slice_axes(const EvalContext& context, const Dims& shape);

// The slice's shape without squeezed axes; sizes known only at run time are data-dependent.
Shape slice_shape(InferContext& context, const Shape& shape);

}  // namespace pippin::mil
