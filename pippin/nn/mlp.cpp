#include "pippin/nn/mlp.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

array::Array apply(Activation activation, const array::Array& x) {
  switch (activation) {
    case Activation::Gelu:
      return array::gelu(x);
    case Activation::GeluTanh:
      return array::gelu(x, "TANH_APPROXIMATION");
    case Activation::Relu:
      return array::relu(x);
    case Activation::Silu:
      break;
  }
  return array::silu(x);
}

GatedMLP::GatedMLP(const Parameters& parameters, int64_t features, int64_t hidden_features,
                   Activation activation, bool bias)
    : path_(parameters.path()),
      activation_(activation),
      gate_(parameters.at("gate_proj"), features, hidden_features, bias),
      up_(parameters.at("up_proj"), features, hidden_features, bias),
      down_(parameters.at("down_proj"), hidden_features, features, bias) {}

array::Array GatedMLP::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  const array::Array gate = apply(activation_, gate_(x));
  return down_(gate * up_(x));
}

}  // namespace pippin::nn
