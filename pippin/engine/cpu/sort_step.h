// The order of the elements of rows: topk and argsort.
#pragma once

#include <string>

#include "pippin/engine/run/step.h"

namespace pippin::engine {

// The first k elements of every row in order, and where they are in it; equal ones keep their
// order, NaN counts as largest, and zeros of both signs are equal.
//
// views: indices int32 [rows, k], then values [rows, k] if it gives them, then x [rows, n], fp32 or
// int32; all with unit column strides, n below 2^31.
class SortStep : public Step {
 public:
  SortStep(std::string name, bool ascending, bool gives_values)
      : name_(std::move(name)), ascending_(ascending), gives_values_(gives_values) {
    num_written = gives_values ? 2 : 1;
  }
  std::string name() const override { return name_; }
  int64_t scratch_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  void sort_row(const StepContext& context, int64_t row, uint64_t* keys) const noexcept;

  std::string name_;
  bool ascending_, gives_values_;
};

}  // namespace pippin::engine
