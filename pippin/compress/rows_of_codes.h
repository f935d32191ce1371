// Some channels of an encoded weight, with the gradients of their output errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/compress/encoder.h"
#include "pippin/compress/error_feedback.h"
#include "pippin/compress/matrix_view.h"

namespace pippin::compress {

// A weight, its codes, and the moments of its inputs.
struct CodedMatrix {
  const MatrixView& view;
  const Encoding& encoding;
  mil::DataType type;
  const ErrorFeedback& feedback;
  Encoded& result;
};

class RowsOfCodes {
 public:
  // At most `limit` channels at a time. `of` must outlive this.
  RowsOfCodes(const CodedMatrix& of, int64_t limit);

  // Reads `count` channels and their codes.
  void load(int64_t first, int64_t count);
  // H (w - q): half of the descent of the error when a q grows.
  void compute_gradients();
  const float* gradients(int64_t row) const { return gradients_.data() + row * inputs_; }
  uint8_t& code(int64_t row, int64_t input) {
    return of_.result.codes.codes()[of_.view.place(first_ + row, input)];
  }

  // Lets each code in turn be the best one for all others; whether any changed.
  bool descend();
  // Fits the scales of linear forms, one channel per block, by least squares; whether any changed.
  // Blocks move together, as far as their sum lowers the error.
  bool fit_scales();

  double squared_error() const;
  // (w - q) H (w - q), from the gradients as descend() left them.
  double output_error() const;

 private:
  size_t at(int64_t row, int64_t input) const { return static_cast<size_t>(row * inputs_ + input); }
  bool descend(int64_t row);
  double output_error(int64_t row) const;
  void propose_steps(int64_t row);
  float new_scale(float scale, double share) const;

  const CodedMatrix& of_;
  int64_t inputs_, first_ = 0, count_ = 0;
  std::vector<float> values_, now_;  // [row][input]: w, and q
  std::vector<float> gradients_, errors_;
  std::vector<float> steps_, products_;  // for scales: a change of q, and H times it
  std::vector<float> shares_;            // [row][block]: that change, relative to the scale
};

}  // namespace pippin::compress
