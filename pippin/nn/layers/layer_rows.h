// Rows of a table for each layer and token (Gemma 3n and 4, "per-layer embeddings"): the token's
// row, combined with a projection of its embedding, is gated by the layer's result and added to it.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct LayerRowsOptions {
  int64_t features = 0;
  int64_t row = 256;  // elements for a layer and token
  int64_t vocab_size = 0;
  Activation activation = Activation::GeluTanh;
  NormOptions norm;
};

// The table of a model.
class LayerRowTable {
 public:
  LayerRowTable(const Parameters& root, const LayerRowsOptions& options, int64_t layers);

  // Rows of all layers, (1, q, layers, row), for ids and their embeddings (1, q, features).
  array::Array operator()(const array::Array& ids, const array::Array& x) const;

 private:
  std::string path_;
  LayerRowsOptions options_;
  int64_t layers_;
  Embedding table_;
  Linear projection_;
  Norm norm_;
};

// The part of a layer: norm(projection(activation(gate(x)) * row)).
class LayerRow {
 public:
  LayerRow(const Parameters& parameters, const LayerRowsOptions& options);

  array::Array operator()(const array::Array& x, const array::Array& row) const;

 private:
  Activation activation_;
  Linear gate_, projection_;
  Norm norm_;
};

// The row of one layer.
array::Array row_of(const array::Array& rows, int64_t layer);

}  // namespace pippin::nn
