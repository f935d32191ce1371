// xIELU (Huang and Schlag, "Deriving Activation Functions Using Integration", 2024), with trained
// parameters in each layer:
//   x > 0: a_p x^2 + b x;  else: a_n (expm1(min(x, eps)) - x) + b x
// where a_p = softplus(alpha_p) and a_n = b + softplus(alpha_n).
#pragma once

#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The parameters of a layer.
struct XIELUOptions {
  double alpha_p = 0, alpha_n = 0, beta = 0.5, epsilon = -1e-6;
};

class XIELU {
 public:
  // "alpha_p" and "alpha_n" (1), "beta" and "eps" (scalars), or these, where they are not tensors.
  XIELU(const Parameters& parameters, const std::optional<XIELUOptions>& given);

  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  array::Array positive_, negative_, beta_, epsilon_;
};

}  // namespace pippin::nn
