// One unit of work of a plan: a kernel, the views it reads and writes, and nothing that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/engine/view.h"

namespace pippin::engine {

constexpr int kMaxRank = 8;

// A view whose dimensions have their numbers, for one run.
struct Operand {
  std::byte* data = nullptr;  // of the first element
  Storage storage = Storage::F32;
  int rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements

  float* floats() const { return reinterpret_cast<float*>(data); }
  int32_t* ints() const { return reinterpret_cast<int32_t*>(data); }
  uint8_t* bools() const { return reinterpret_cast<uint8_t*>(data); }
  int64_t size() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
};

// Whether every element of an operand that begins at `offset` lies in a buffer of `extent`
// elements. Overflow counts as outside.
bool lies_inside(const Operand& operand, int64_t offset, int64_t extent);

struct StepContext {
  std::span<const Operand> operands;  // as Step::views
  std::span<const int64_t> scalars;   // as Step::scalars
  ThreadPool& pool;
  std::byte* scratch;         // scratch_bytes() for each thread
  std::exception_ptr* error;  // where a step that runs the reference leaves what went wrong
};

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const StepContext& context) const noexcept = 0;
  virtual std::string name() const = 0;
  // Per thread, from the upper bounds of the views.
  virtual int64_t scratch_bytes() const { return 0; }
  // Bytes of constant weights that one run reads from memory.
  virtual int64_t weight_bytes() const { return 0; }

  std::vector<View> views;  // what is written first, then what is read
  size_t num_written = 1;
  std::vector<mil::Dim> scalars;
};

}  // namespace pippin::engine
