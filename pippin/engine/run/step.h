// One unit of work of a plan: the kernel for a node; it cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/nodes/node.h"

namespace pippin::engine {

class Peers;

constexpr int kMaxRank = 8;

// A view whose dimensions are numbers, for one run.
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
  std::span<const Operand> operands;  // as Node::views
  std::span<const int64_t> scalars;   // as Node::scalars
  ThreadPool& pool;
  std::byte* scratch;         // scratch_bytes() for each thread
  std::exception_ptr* error;  // the first error, see leave_errors()
  Peers* peers = nullptr;     // with which large work is divided (peers.h)
};

// Runs `body`; an exception becomes the run's error, unless there is one already.
template <typename Body>
void leave_errors(const StepContext& context, const Body& body) noexcept {
  try {
    body();
  } catch (...) {
    if (!*context.error) *context.error = std::current_exception();
  }
}

// Calls body(range) with ranges of `jobs` on all threads, or with all of them if there is too
// little work to share.
template <typename Body>
void share_out(const StepContext& context, int64_t jobs, bool worth_sharing, const Body& body) {
  if (!worth_sharing) {
    body(Range{0, jobs});
  } else {
    context.pool.run([&](int part, int parts) { body(split_range(jobs, part, parts)); });
  }
}

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const StepContext& context) const noexcept = 0;
  // The node's name, with the kernel.
  std::string name() const { return node_name(*node_, kernel_name()); }
  virtual std::string kernel_name() const { return {}; }
  // Per thread, from the upper bounds of the views.
  virtual int64_t scratch_bytes() const { return 0; }
  // The same for `rows` rows of several sequences; see row_axis().
  virtual int64_t scratch_bytes_of([[maybe_unused]] int64_t rows) const { return scratch_bytes(); }
  // For a step that multiplies rows by constant weights, so that one run can take the rows of
  // several sequences and read the weights once: the axis of rows in all its non-constant views of
  // fp32. It is the last but one; rows have unit stride. -1: another step.
  virtual int row_axis() const { return -1; }
  // Whether each element that it writes is computed from those at the same place in all its views.
  virtual bool is_elementwise() const { return false; }
  // Bytes of constant weights that one run reads from memory.
  virtual int64_t weight_bytes() const { return 0; }
  // The number of bytes saved compared with the package, if the weights are in a smaller lossless
  // form: of weights that are not among the `counted`, to which it adds them.
  virtual int64_t saved_bytes([[maybe_unused]] std::set<const std::byte*>& counted) const {
    return 0;
  }

  // The node that it executes, which must outlive it.
  void attach(const Node& node) {
    node_ = &node;
    views = node.views;
    num_written = node.num_written;
  }

  std::span<const View> views;  // of the node
  size_t num_written = 1;

 private:
  const Node* node_ = nullptr;
};

}  // namespace pippin::engine
