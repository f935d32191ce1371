#include "pippin/base/error.h"
#include "pippin/mx/core/chosen_kernels.h"
#include "pippin/mx/core/float_rows.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Softmax final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "softmax"; }
  void eval(Node& out) const override {
    const int64_t length = out.shape.back();
    each_float_rows(out, length, [&](const float* x, float* y, int64_t rows) {
      row_kernels().softmax({x, length, y, length, rows, length});
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, pippin::array::softmax(recorder.input(out, 0), -1));
  }
};

// The last axis becomes size 1.
class LogSumExp final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "logsumexp"; }
  void eval(Node& out) const override {
    const int64_t length = out.inputs[0]->shape.back();
    each_float_rows(out, 1, [&](const float* x, float* y, int64_t rows) {
      row_kernels().reduce(kernels::ReduceOp::LogSumExp, {x, length, y, 1, rows, length});
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, Recorder::one("reduce_log_sum_exp", {{"x", recorder.input(out, 0)},
                                                              {"axes", std::vector<int64_t>{-1}},
                                                              {"keep_dims", true}}));
  }
};

}  // namespace

array softmax(const array& a, const Axes& axes, bool precise) {
  const std::vector<int> normal = chosen_axes("softmax", axes, a);
  (void)precise;  // float32 inside, always
  const Dtype dtype = at_least_float(a.dtype());
  array x = astype(a, dtype);
  if (x.size() == 0 || normal.empty()) return normal.empty() ? exp(subtract(x, x)) : x;
  if (dtype == float64) {
    const array shifted = exp(subtract(x, max(x, normal, true)));
    return divide(shifted, sum(shifted, normal, true));
  }
  if (normal.size() == 1 && normal[0] == static_cast<int>(x.ndim()) - 1) {
    return make(shared_primitive<Softmax>(), dtype, x.shape(), {&x});
  }
  const LastAxis last = to_last(x, normal);
  const array y = make(shared_primitive<Softmax>(), dtype, last.x.shape(), {&last.x});
  return transpose(reshape(y, last.shape), last.back);
}

array logsumexp(const array& a, const Axes& axes, bool keepdims) {
  const std::vector<int> normal = chosen_axes("logsumexp", axes, a);
  if (a.size() == 0) {
    fail(ErrorCode::InvalidArgument, "[logsumexp] An array of shape {} has no elements.",
         to_string(a.shape()));
  }
  const Dtype dtype = at_least_float(a.dtype());
  array x = astype(a, dtype);
  if (normal.empty()) return x;
  const Shape shape = reduced_shape(a.shape(), normal, keepdims);
  if (dtype == float64) {
    const array largest = max(x, normal, true);
    const array shift = where(isfinite(largest), largest, array(0, float64));
    return reshape(add(log(sum(exp(subtract(x, shift)), normal, true)), shift), shape);
  }
  const LastAxis last = to_last(x, normal);
  Shape reduced = last.x.shape();
  reduced.back() = 1;
  return reshape(make(shared_primitive<LogSumExp>(), dtype, reduced, {&last.x}), shape);
}

}  // namespace pippin::mx
