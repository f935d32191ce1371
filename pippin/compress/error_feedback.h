// Quantization with compensation of errors: the error of an element is passed on to later elements,
// as far as the observed inputs of the dot product allow.
//
// GPTQ (Frantar et al., 2022) in the form of LDLQ (Chee et al., QuIP, 2023). With H the second
// moments of the inputs, the squared error of a row's outputs is (w - q) H (w - q)^T; with
// H = U D U^T, U upper triangular with ones on its diagonal, that is
//
//   sum over k of D[k] * (w[k] + sum over j < k of (w[j] - q[j]) U[j][k] - q[k])^2
//
// so each q[k] is the code nearest to the sum before it. The two papers show that this is what GPTQ
// computes. Scales and palettes minimise the same sum, block by block, weighted with D.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/input_statistics.h"

namespace pippin::compress {

class ErrorFeedback {
 public:
  // Adds a hundredth of the mean of H's diagonal to it, and more if H is still not definite: inputs
  // absent from the text keep some importance. Takes 4 * size^2 bytes.
  ErrorFeedback(const InputMoments& moments, ThreadPool& pool);

  int64_t size() const { return size_; }
  // D; the mean is 1.
  const std::vector<float>& importance() const { return importance_; }
  // U[row] from the diagonal on: 1, U[row][row + 1], ...
  const float* row(int64_t index) const { return unit_.data() + index * size_ + index; }

 private:
  bool factor(ThreadPool& pool);

  int64_t size_;
  std::vector<float> unit_;  // U, zeros below the diagonal
  std::vector<float> importance_;
};

}  // namespace pippin::compress
