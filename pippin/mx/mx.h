// Arrays with MLX's interface.
//
//   using namespace pippin;
//   mx::array x = mx::random::normal({4, 8});
//   mx::array y = mx::softmax(mx::matmul(x, mx::transpose(x)), -1);
//   mx::eval(y);
//
// Names, arguments and types follow MLX.
#pragma once

#include "pippin/mx/array.h"      // IWYU pragma: export
#include "pippin/mx/binary.h"     // IWYU pragma: export
#include "pippin/mx/compile.h"    // IWYU pragma: export
#include "pippin/mx/conv.h"       // IWYU pragma: export
#include "pippin/mx/create.h"     // IWYU pragma: export
#include "pippin/mx/dtype.h"      // IWYU pragma: export
#include "pippin/mx/export.h"     // IWYU pragma: export
#include "pippin/mx/fast.h"       // IWYU pragma: export
#include "pippin/mx/index.h"      // IWYU pragma: export
#include "pippin/mx/io.h"         // IWYU pragma: export
#include "pippin/mx/matmul.h"     // IWYU pragma: export
#include "pippin/mx/quantized.h"  // IWYU pragma: export
#include "pippin/mx/random.h"     // IWYU pragma: export
#include "pippin/mx/reduce.h"     // IWYU pragma: export
#include "pippin/mx/scan_sort.h"  // IWYU pragma: export
#include "pippin/mx/shape_ops.h"  // IWYU pragma: export
#include "pippin/mx/unary.h"      // IWYU pragma: export
