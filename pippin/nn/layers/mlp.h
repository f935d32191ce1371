// Feed-forward networks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/feed_forward.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/xielu.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

enum class Activation {
  Silu,
  Gelu,       // exact, by erf
  GeluTanh,   // Hendrycks and Gimpel's approximation by tanh
  QuickGelu,  // x * sigmoid(1.702 x)
  Relu,
  Relu2,  // relu(x)^2
  Tanh,
  Sigmoid,
  Softplus,
  Identity,
  XIELU,  // with trained parameters in the layer (nn/layers/xielu.h)
};

// Applies an activation without parameters.
array::Array apply(Activation activation, const array::Array& x);

struct MLPOptions {
  int64_t features = 0;
  int64_t hidden_features = 0;
  Activation activation = Activation::Silu;
  bool gated = true;
  bool bias = false;              // of all matrices
  std::optional<bool> down_bias;  // of `down`, where that is another
  bool transposed = false;        // they lie as (in, out)
  // One matrix with the rows of gate and up after one another, under gate's name.
  bool fused = false;
  bool up_first = false;  // then those of up come first
  // WeightLayout::groups and stacked_groups, without a gate.
  int64_t up_groups = 0, down_groups = 0;
  bool stacked_groups = false;
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string activation_path = "act_fn";     // of an activation's parameters
  std::optional<XIELUOptions> xielu;          // those of XIELU, where they are not tensors
  NamedNorm inner_norm;                       // before `down`
  double gate_scale = 1.0, down_scale = 1.0;  // of what these give
  // gate is at most `limit`, up within [-limit, limit], and `up_shift` is added to up.
  std::optional<double> limit;
  bool activates_first = false;  // the gate's limit is that of activation(gate)
  double up_shift = 0.0;
  std::string result_scale;  // a tensor of one number that the result is multiplied with
  // Only the part of the gate above its mean by this many standard deviations is used; 0: all of
  // it.
  double cutoff = 0;
  // Two low-rank matrices, ADAPTER.0 and ADAPTER.1, whose product is added to the fused one; an
  // empty name: none.
  std::string adapter;
  int64_t adapter_rank = 0;

  std::unique_ptr<const FeedForward> make(const Parameters& parameters) const;
};

// down(activation(gate(x)) * up(x)), or down(activation(up(x))) without a gate.
class MLP final : public FeedForward {
 public:
  MLP(const Parameters& parameters, const MLPOptions& options);

  array::Array operator()(const array::Array& x, LayerCarry& carry) const override;

 private:
  array::Array feed(const array::Array& x) const;
  array::Array activated(const array::Array& x) const;
  array::Array gated(const array::Array& x) const;

  std::string path_;
  Activation activation_;
  double cutoff_;
  bool convolutions_;
  std::optional<XIELU> xielu_;
  double gate_scale_, down_scale_, up_shift_;
  std::optional<double> limit_;
  bool activates_first_;
  std::optional<array::Array> result_scale_;
  std::optional<Linear> gate_;
  std::optional<Norm> inner_norm_;
  Linear up_, down_;
};

}  // namespace pippin::nn
