#include "pippin/mx/nn/activations.h"

#include <cmath>
#include <numbers>

#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx::nn {

array relu(const array& x) {
  return maximum(x, array(0.0f, x.dtype()));
}

array leaky_relu(const array& x, float negative_slope) {
  return maximum(x * negative_slope, x);
}

array relu2(const array& x) {
  return square(relu(x));
}

array relu6(const array& x) {
  return minimum(relu(x), array(6.0f, x.dtype()));
}

array elu(const array& x, float alpha) {
  return where(greater(x, array(0.0f, x.dtype())), x, expm1(x) * alpha);
}

array softplus(const array& x) {
  return logaddexp(x, array(0.0f, x.dtype()));
}

array silu(const array& x) {
  return x * sigmoid(x);
}

array mish(const array& x) {
  return x * tanh(softplus(x));
}

array hardswish(const array& x) {
  return x * relu6(x + 3.0f) / 6.0f;
}

array gelu(const array& x) {
  return x * (1.0f + erf(x * std::numbers::sqrt2_v<float> / 2.0f)) / 2.0f;
}

array gelu_approx(const array& x) {
  const float scale = std::sqrt(2.0f / std::numbers::pi_v<float>);
  return 0.5f * x * (1.0f + tanh(scale * (x + 0.044715f * (x * x * x))));
}

array gelu_fast_approx(const array& x) {
  return x * sigmoid(1.702f * x);
}

array glu(const array& x, int axis) {
  const std::vector<array> halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

array swiglu(const array& gate, const array& x) {
  return silu(gate) * x;
}

array log_softmax(const array& x, int axis) {
  return x - logsumexp(x, axis, true);
}

}  // namespace pippin::mx::nn
