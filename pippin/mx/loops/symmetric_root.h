// Square roots of symmetric matrices.
#pragma once

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns r with r · r = x for x[..., n, n] float32, symmetric and without negative eigenvalues;
// eigenvalues that are negative through rounding count as 0.
array symmetric_root(const array& x);

}  // namespace pippin::mx
