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
//
// Inputs are processed in order of their second moments, largest first (GPTQ's "activation order"),
// since the last ones receive all errors. A block of inputs with a scale stays together.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/input_statistics.h"

namespace pippin::compress {

// The inputs in order of their second moments, largest first; blocks of `block` inputs as a whole.
std::vector<int64_t> order_of_inputs(const InputMoments& moments, int64_t block);

class ErrorFeedback {
 public:
  // Adds a hundredth of the mean of H's diagonal to it, and more if H is still not definite: inputs
  // absent from the text keep some importance. Takes 4 * size^2 bytes. `order` has all inputs;
  // `moments` must outlive this.
  ErrorFeedback(const InputMoments& moments, std::vector<int64_t> order, ThreadPool& pool);

  int64_t size() const { return size_; }
  // The input that step k processes.
  const std::vector<int64_t>& order() const { return order_; }

  // In the order of steps: D, whose mean is 1,
  const std::vector<float>& importance() const { return importance_; }
  // and U[step] from the diagonal on: 1, U[step][step + 1], ...
  const float* row(int64_t step) const { return unit_.data() + step * size_ + step; }

  // In the order of inputs: H, with its damping.
  float moment(int64_t input) const;
  // Adds factor * H[input] to `sums`.
  void add_row(int64_t input, float factor, float* sums) const;
  // H[input][first + i] for i < count.
  void copy_row(int64_t input, int64_t first, int64_t count, float* to) const;
  // H[input][input + 1], ...
  const float* after(int64_t input) const {
    return moments_.products.data() + input * (size_ + 1) + 1;
  }
  // sums[r] = rows[r] * H, for `count` rows of size() floats.
  void multiply(const float* rows, int64_t count, float* sums) const;

 private:
  void fill(float damping, ThreadPool& pool);
  bool factor(ThreadPool& pool);
  const float* before(int64_t input) const { return unit_.data() + input * size_; }

  const InputMoments& moments_;
  int64_t size_;
  std::vector<int64_t> order_;
  // U in the order of steps; below its diagonal H in the order of inputs.
  std::vector<float> unit_;
  std::vector<float> importance_;
  float damping_ = 0;  // added to H's diagonal
};

}  // namespace pippin::compress
