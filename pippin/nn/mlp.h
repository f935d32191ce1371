// Feed-forward networks.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/array/array.h"
#include "pippin/nn/linear.h"
#include "pippin/nn/parameters.h"

namespace pippin::nn {

enum class Activation { Silu, Gelu, GeluTanh, Relu };

array::Array apply(Activation activation, const array::Array& x);

// down(activation(gate(x)) * up(x)): "gate_proj", "up_proj", "down_proj".
class GatedMLP {
 public:
  GatedMLP(const Parameters& parameters, int64_t features, int64_t hidden_features,
           Activation activation = Activation::Silu, bool bias = false);

  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  Activation activation_;
  Linear gate_, up_, down_;
};

}  // namespace pippin::nn
