// The modules that hold one matrix. In a style of convolutions (nn/weights/style.h) a Linear is a
// convolution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/dim.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// x · weightᵀ + bias on the features, the last axis of x; "weight" is (out, in), "bias" (out). A
// convolution also accepts and returns (1, features, height, width).
class Linear {
 public:
  // `layout`: for a weight that is part of a larger one, or is stored transposed.
  Linear(const Parameters& parameters, int64_t in_features, int64_t out_features, bool bias = false,
         const WeightLayout& layout = {});
  // With a matrix that is owned elsewhere: a language model's head tied to its embedding.
  Linear(const std::string& path, array::Array weight,
         std::optional<array::Array> bias = std::nullopt, bool convolution = false);

  // From now on adapters that runs choose change the matrix (out, in) as that of `module`: for a
  // matrix that is owned elsewhere.
  void choose(const Parameters& module, int64_t in_features, int64_t out_features);
  // From now on x · aᵀ · bᵀ is added; a is (rank, in), b (out, rank).
  void add(array::Array a, array::Array b);

  array::Array operator()(const array::Array& x) const;
  // Outputs [begin, end) only: part `index` of a split head.
  Linear outputs(int64_t index, int64_t begin, int64_t end) const;

 private:
  void make_kernel();
  array::Array with_chosen(const array::Array& x, const array::Array& taken) const;
  array::Array by_group(const array::Array& x) const;
  array::Array convolve(const array::Array& x) const;

  std::string path_;
  array::Array weight_;
  std::optional<array::Array> bias_;
  std::optional<AdapterMatrices> adapter_;
  std::optional<RunMatrices> chosen_;
  std::optional<RunVectors> chosen_bias_;
  bool convolution_;
  bool stacked_ = false;        // the matrices of groups lie as (in, out)
  std::vector<int64_t> order_;  // of the inputs, as the weight has them; empty: as they come
};

// Rows of "weight" (vocabulary, features) by id.
class Embedding {
 public:
  Embedding(const Parameters& parameters, int64_t num_embeddings, int64_t features);
  // With a computed table.
  Embedding(const Parameters& parameters, array::Array table);

  array::Array operator()(const array::Array& ids) const;
  // Rows [begin, end): learned positions.
  array::Array rows(const mil::Dim& begin, const mil::Dim& end) const;
  const array::Array& weight() const { return weight_; }
  // The head that shares the matrix; `path` names it in the program.
  Linear as_linear(const std::string& path, std::optional<array::Array> bias = std::nullopt) const {
    return Linear(path, weight_, std::move(bias), convolutions_);
  }

 private:
  std::string path_;
  array::Array weight_;
  std::optional<AdapterMatrices> adapter_;
  std::optional<RunMatrices> chosen_;
  bool convolutions_;
};

}  // namespace pippin::nn
