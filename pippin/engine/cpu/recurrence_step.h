// Shared by the steps of recurrences: their kernels, rows of states, and jobs on all threads.
#pragma once

#include "pippin/engine/run/step.h"
#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::engine {

// Rows of a state as fp32 while a kernel works on them: in place, or a copy in `scratch`, which has
// room for all of them and which store() writes back.
class FloatRows {
 public:
  // `rows` rows of n adjacent elements, `stride` elements apart, from the given element on.
  FloatRows(const Operand& state, int64_t first, int64_t rows, int64_t stride, int64_t n,
            float* scratch);
  void store() const;
  float* data() const { return data_; }
  int64_t stride() const { return copied_ ? n_ : state_stride_; }

 private:
  std::byte* state_;
  int64_t rows_, state_stride_, n_;
  bool copied_;
  float* data_;
};

// Steps in fp32 except for the state, with views: results, state, other operands.
class RecurrenceStep : public Step {
 public:
  explicit RecurrenceStep(const CpuFeatures& cpu) : kernels_(kernels::choose_recurrence(cpu)) {}
  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override { return scratch_floats() * element_size(Storage::F32); }

 protected:
  virtual int64_t scratch_floats() const = 0;  // of a thread
  // Rounds up so that the next array is aligned.
  static int64_t rounded(int64_t floats) { return (floats + 15) / 16 * 16; }
  // Calls body(begin, end, scratch) with ranges of `jobs` on all threads.
  template <typename Body>
  void share(const StepContext& context, int64_t jobs, const Body& body) const {
    const int64_t scratch = scratch_floats();
    context.pool.run([&](int part, int parts) {
      const Range range = split_range(jobs, part, parts);
      if (range.begin >= range.end) return;
      body(range.begin, range.end, reinterpret_cast<float*>(context.scratch) + part * scratch);
    });
  }

  const kernels::RecurrenceKernels& kernels_;
};

}  // namespace pippin::engine
