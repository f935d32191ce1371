// Activation functions.
#pragma once

#include "pippin/mx/core/array.h"

namespace pippin::mx::nn {

PIPPIN_API array relu(const array& x);
PIPPIN_API array leaky_relu(const array& x, float negative_slope = 0.01f);
PIPPIN_API array relu2(const array& x);  // the square of relu
PIPPIN_API array relu6(const array& x);
PIPPIN_API array elu(const array& x, float alpha = 1);
PIPPIN_API array softplus(const array& x);
PIPPIN_API array silu(const array& x);
PIPPIN_API array mish(const array& x);
PIPPIN_API array hardswish(const array& x);
PIPPIN_API array gelu(const array& x);
PIPPIN_API array gelu_approx(const array& x);       // using tanh
PIPPIN_API array gelu_fast_approx(const array& x);  // using sigmoid
// a * sigmoid(b), where a and b are the halves of an axis.
PIPPIN_API array glu(const array& x, int axis = -1);
// silu(gate) * x
PIPPIN_API array swiglu(const array& gate, const array& x);
PIPPIN_API array log_softmax(const array& x, int axis = -1);

}  // namespace pippin::mx::nn
