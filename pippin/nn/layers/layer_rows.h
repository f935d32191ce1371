// Rows of a table for each layer and token (Gemma 3n and 4, "per-layer embeddings"): the token's
// row, together with what a projection makes of its embedding, is gated by what a layer has
// computed and added to that.
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
  int64_t row = 256;  // elements that a layer has of a token
  int64_t vocab_size = 0;
  Activation activation = Activation::GeluTanh;
  NormOptions norm;
};

// What a model has of it.
class LayerRowTable {
 public:
  LayerRowTable(const Parameters& root, const LayerRowsOptions& options, int64_t layers);

  // Rows of all layers, (1, q, layers, row), of ids and their embeddings (1, q, features).
  array::Array operator()(const array::Array& ids, const array::Array& x) const;

 private:
  std::string path_;
  LayerRowsOptions options_;
  int64_t layers_;
  Embedding table_;
  Linear projection_;
  Norm norm_;
};

// What a layer has of it: norm(projection(activation(gate(x)) * row)).
class LayerRow {
 public:
  LayerRow(const Parameters& parameters, const LayerRowsOptions& options);

  array::Array operator()(const array::Array& x, const array::Array& row) const;

 private:
  Activation activation_;
  Linear gate_, projection_;
  Norm norm_;
};

// Those of a layer of all.
array::Array row_of(const array::Array& rows, int64_t layer);

}  // namespace pippin::nn
