// Arrays with MLX's interface.
//
//   using namespace pippin;
//   mx::array x = mx::random::normal({4, 8});
//   mx::array y = mx::softmax(mx::matmul(x, mx::transpose(x)), -1);
//   mx::eval(y);
//
// Names, arguments and types follow MLX.
#pragma once

#include "pippin/mx/core/array.h"      // IWYU pragma: export
#include "pippin/mx/core/dtype.h"      // IWYU pragma: export
#include "pippin/mx/core/index.h"      // IWYU pragma: export
#include "pippin/mx/export/compile.h"  // IWYU pragma: export
#include "pippin/mx/export/export.h"   // IWYU pragma: export
#include "pippin/mx/io/io.h"           // IWYU pragma: export
#include "pippin/mx/ops/binary.h"      // IWYU pragma: export
#include "pippin/mx/ops/conv.h"        // IWYU pragma: export
#include "pippin/mx/ops/create.h"      // IWYU pragma: export
#include "pippin/mx/ops/fast.h"        // IWYU pragma: export
#include "pippin/mx/ops/matmul.h"      // IWYU pragma: export
#include "pippin/mx/ops/quantized.h"   // IWYU pragma: export
#include "pippin/mx/ops/random.h"      // IWYU pragma: export
#include "pippin/mx/ops/reduce.h"      // IWYU pragma: export
#include "pippin/mx/ops/scan_sort.h"   // IWYU pragma: export
#include "pippin/mx/ops/shape_ops.h"   // IWYU pragma: export
#include "pippin/mx/ops/unary.h"       // IWYU pragma: export
