// What the steps of recurrences share: their kernels, and jobs on all threads.
#pragma once

#include "pippin/engine/run/step.h"
#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::engine {

// Steps of fp32 but for the state, whose views are: results, state, what else is read.
class RecurrenceStep : public Step {
 public:
  explicit RecurrenceStep(const CpuFeatures& cpu) : kernels_(kernels::choose_recurrence(cpu)) {
    num_written = 2;
  }
  std::string name() const override;
  int64_t scratch_bytes() const override { return scratch_floats() * element_size(Storage::F32); }

 protected:
  virtual const char* what() const = 0;
  virtual int64_t scratch_floats() const = 0;  // of a thread
  // So many floats that what comes after them is aligned.
  static int64_t rounded(int64_t floats) { return (floats + 15) / 16 * 16; }
  // Calls body(begin, end, scratch) with shares of `jobs` on all threads.
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
