// Support vectors and the kernel that compares them with a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/tabular/readers.h"

namespace pippin::tabular {

class Kernel {
 public:
  // Throws InvalidFile if no kernel is set.
  explicit Kernel(const proto::Kernel& message);

  // The kernel of two vectors, given their dot product or their squared distance (RBF).
  double of(double value) const;
  bool uses_distance() const { return kind_ == Kind::Rbf; }
  std::string text() const;  // "rbf (gamma 0.5)"

 private:
  enum class Kind : uint8_t { Linear, Rbf, Poly, Sigmoid };
  Kind kind_ = Kind::Linear;
  double gamma_ = 0, c_ = 0;
  int degree_ = 0;
};

class SupportVectors {
 public:
  // `sparse` or `dense` is not null. Throws InvalidFile if dense vectors differ in length, or if
  // the positions of a sparse vector do not ascend from 1.
  SupportVectors(const proto::Kernel& kernel, const proto::SparseVectors* sparse,
                 const proto::DenseVectors* dense);

  size_t size() const { return starts_.size() - 1; }
  // The length of dense vectors; of sparse vectors, the largest position.
  size_t width() const { return width_; }
  bool is_dense() const { return is_dense_; }
  const Kernel& kernel() const { return kernel_; }

  // The kernel of `row`, of at least width() numbers, with each vector.
  std::vector<double> kernels(const std::vector<double>& row) const;

 private:
  double dot(size_t vector, const std::vector<double>& row) const;
  double squared_distance(size_t vector, const std::vector<double>& row) const;

  const Kernel kernel_;
  const bool is_dense_;
  size_t width_ = 0;
  // The numbers of all vectors, and the first of each. Sparse ones have positions, from 0.
  std::vector<double> values_;
  std::vector<uint32_t> positions_;
  std::vector<size_t> starts_ = {0};
};

}  // namespace pippin::tabular
