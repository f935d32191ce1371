// The reference: one sum after another, in double.
#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::kernels {
namespace {

float to_float(float value) {
  return value;
}
using pippin::to_float;

template <typename Weight>
void dot_scalar(const DotArgs& a) {
  for (int64_t i = 0; i < a.m; ++i) {
    const float* x = a.x + i * a.x_stride;
    for (int64_t j = 0; j < a.n; ++j) {
      const Weight* w = static_cast<const Weight*>(a.w) + j * a.w_stride;
      double sum = 0;
      for (int64_t l = 0; l < a.k; ++l) sum += double{x[l]} * double{to_float(w[l])};
      if (a.bias != nullptr) sum += double{a.bias[j]};
      a.y[i * a.y_stride + j] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void dot_f32_scalar(const DotArgs& args) noexcept {
  dot_scalar<float>(args);
}
void dot_f16_scalar(const DotArgs& args) noexcept {
  dot_scalar<float16>(args);
}
void dot_bf16_scalar(const DotArgs& args) noexcept {
  dot_scalar<bfloat16>(args);
}

void dot_f32_scalar_many(const ManyRowsArgs& args) noexcept {
  dot_scalar<float>(args.dot);
}
void dot_f16_scalar_many(const ManyRowsArgs& args) noexcept {
  dot_scalar<float16>(args.dot);
}
void dot_bf16_scalar_many(const ManyRowsArgs& args) noexcept {
  dot_scalar<bfloat16>(args.dot);
}

}  // namespace pippin::kernels
