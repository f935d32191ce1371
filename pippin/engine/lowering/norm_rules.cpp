// l2_norm and local_response_norm: norms by sums of squares.
#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

void l2_norm(Builder& builder, const mil::Operation& operation) {
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View y = builder.allocate(Storage::F32, x.shape);
  builder.emit(L2NormNode{float_param(builder, operation, "epsilon")},
               {*matrix_view(y, 3), *matrix_view(x, 3)});
  builder.define_output(operation, y);
}

void local_response_norm(Builder& builder, const mil::Operation& operation) {
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View y = builder.allocate(Storage::F32, x.shape);
  const int64_t size = int_param(builder, operation, "size");
  builder.emit(
      LocalResponseNode{size, float_param(builder, operation, "alpha") / static_cast<double>(size),
                        static_cast<float>(float_param(builder, operation, "beta")),
                        static_cast<float>(float_param(builder, operation, "k"))},
      {around_axis(builder, y, 1), around_axis(builder, x, 1)});
  builder.define_output(operation, y);
}

}  // namespace

void add_norm_rules(Rules& rules) {
  rules["l2_norm"] = l2_norm;
  rules["local_response_norm"] = local_response_norm;
}

}  // namespace pippin::engine
