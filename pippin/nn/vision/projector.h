// The network between a vision tower and a language model: from states of patches to the width of
// its embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Two matrices with an activation between them, after a norm where `norm` has a name.
struct ProjectorOptions {
  int64_t features = 0;  // of the input
  // Rows of the matrices; 0: as many as the tensor has.
  int64_t hidden_features = 0, output_features = 0;
  NamedNorm norm;
  std::string first = "linear_1", second = "linear_2";
  bool bias = true;
  Activation activation = Activation::Gelu;
  // The first matrix gives two halves, x and gate: x * activation(gate).
  bool gated = false;
};

class Projector {
 public:
  Projector(const Parameters& parameters, const ProjectorOptions& options);

  // From (batch, rows, features) to (batch, rows, width of the second matrix).
  array::Array operator()(const array::Array& x) const;

 private:
  ProjectorOptions options_;
  std::optional<Norm> norm_;
  Linear first_, second_;
};

// A matrix of `outputs` rows; 0: as many as the tensor has.
Linear projection_of(const Parameters& parameters, int64_t features, int64_t outputs, bool bias);

}  // namespace pippin::nn
