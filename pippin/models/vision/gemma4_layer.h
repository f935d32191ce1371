// A layer of Gemma 4's vision tower: attention whose heads are rotated by row and column, and a
// gated feed-forward, with norms before and after both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

struct Gemma4LayerOptions {
  int64_t features = 0, hidden_features = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  nn::NormOptions norm;
  nn::Activation activation = nn::Activation::GeluTanh;
  bool clips = false;  // the inputs and outputs of all matrices have bounds
};

// "linear.weight", and where `clips`, the bounds of its inputs and outputs.
class ClippedLinear {
 public:
  ClippedLinear(const nn::Parameters& parameters, int64_t in_features, int64_t out_features,
                bool clips);
  array::Array operator()(const array::Array& x) const;

 private:
  struct Bounds {
    double lower, upper;
  };
  static array::Array clipped(const array::Array& x, const std::optional<Bounds>& bounds);

  nn::Linear linear_;
  std::optional<Bounds> inputs_, outputs_;
};

class Gemma4Layer {
 public:
  Gemma4Layer(const nn::Parameters& parameters, const Gemma4LayerOptions& options);

  // x (1, patches, features); the rotations are those of the first and the second half of a head.
  array::Array operator()(const array::Array& x, const nn::Rotation& columns,
                          const nn::Rotation& rows) const;

 private:
  array::Array attention(const array::Array& x, const nn::Rotation& columns,
                         const nn::Rotation& rows) const;
  array::Array feed_forward(const array::Array& x) const;
  array::Array heads(const array::Array& x, int64_t count) const;
  array::Array repeated(const array::Array& x) const;

  std::string path_;
  Gemma4LayerOptions options_;
  ClippedLinear query_, key_, value_, output_, gate_, up_, down_;
  nn::Norm query_norm_, key_norm_, value_norm_;
  nn::Norm before_attention_, after_attention_, before_mlp_, after_mlp_;
};

}  // namespace pippin::models::vision
