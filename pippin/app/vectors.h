// Sparse vectors, and one vector for each token of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::app {

// The nonzero elements, sorted by index.
struct SparseVector {
  std::vector<int32_t> indices;
  std::vector<float> values;
};

// The vectors of a text's tokens, one after another, each of `width` numbers.
struct TokenVectors {
  size_t width = 0;
  std::vector<float> values;

  size_t count() const { return width > 0 ? values.size() / width : 0; }
};

// Drops the zeros, and keeps only the `most` largest numbers (0: all).
SparseVector sparse_of(std::span<const float> dense, int64_t most = 0);
double dot(const SparseVector& a, const SparseVector& b);
double norm(const SparseVector& a);
// The sum over the query's vectors of their largest product with one of the document's (MaxSim). 0
// for a document without vectors.
double max_sim(const TokenVectors& query, const TokenVectors& document);

}  // namespace pippin::app
