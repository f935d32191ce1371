// Activation functions, element by element except where an axis is named. Integers are converted to
// float32 where the result has fractions.
#pragma once

#include "pippin/mx/core/array.h"

namespace pippin::mx::nn {

// Returns max(x, 0) in x's type.
PIPPIN_API array relu(const array& x);
// Returns max(x, negative_slope * x).
PIPPIN_API array leaky_relu(const array& x, float negative_slope = 0.01f);
// Returns the square of relu(). So et al., "Primer" (2021).
PIPPIN_API array relu2(const array& x);
// Returns min(max(x, 0), 6).
PIPPIN_API array relu6(const array& x);
// Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere. Clevert et al., "Exponential
// Linear Units" (2015).
PIPPIN_API array elu(const array& x, float alpha = 1);
// Returns log(1 + exp(x)), without overflow.
PIPPIN_API array softplus(const array& x);
// Returns x * sigmoid(x), also called swish. Elfwing et al. (2017).
PIPPIN_API array silu(const array& x);
// Returns x * tanh(softplus(x)). Misra, "Mish" (2019).
PIPPIN_API array mish(const array& x);
// Returns x * relu6(x + 3) / 6. Howard et al., "Searching for MobileNetV3" (2019).
PIPPIN_API array hardswish(const array& x);
// Returns x * (1 + erf(x / √2)) / 2. Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).
PIPPIN_API array gelu(const array& x);
// Returns gelu() approximated by 0.5 x (1 + tanh(√(2 / π) (x + 0.044715 x³))).
PIPPIN_API array gelu_approx(const array& x);
// Returns gelu() approximated by x * sigmoid(1.702 x).
PIPPIN_API array gelu_fast_approx(const array& x);
// Returns a * sigmoid(b), where a and b are the halves of an axis, which becomes half as long.
// Throws InvalidArgument for an odd size. Dauphin et al., "Gated Convolutional Networks" (2016).
PIPPIN_API array glu(const array& x, int axis = -1);
// Returns silu(gate) * x; the two broadcast. Shazeer, "GLU Variants Improve Transformer" (2020).
PIPPIN_API array swiglu(const array& gate, const array& x);
// Returns x - log(Σ exp(x)) along an axis, of x's shape. Throws InvalidArgument if there are no
// elements.
PIPPIN_API array log_softmax(const array& x, int axis = -1);

}  // namespace pippin::mx::nn
