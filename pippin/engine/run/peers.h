// Processes that run the same steps at the same time, on the same values, so that each can compute
// a part of a large step and read only that part's weights (tensor parallelism).
//
// A part is a range of columns of a product, or of heads of attention: each number is computed by
// one process, as that process would compute it alone. Results therefore have the same bits for any
// number of peers. How work is divided depends on shapes alone, so that all peers agree on it
// without a message; their numbers of threads may differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

class Peers {
 public:
  // A value of which each peer has computed a range along an axis.
  struct Divided {
    const Operand& whole;
    int axis;
    std::vector<Range> ranges;  // by peer; may be empty
  };

  virtual ~Peers() = default;
  virtual int index() const = 0;  // of this process
  virtual int count() const = 0;  // at least 2
  // Steps of fewer multiplications are computed by each, which takes less time than a message.
  virtual int64_t least_work() const = 0;
  // Called by one thread, by all peers in the same order: afterwards each has the values as a
  // whole. Throws Error(Device) if a peer is lost.
  virtual void exchange(std::span<const Divided> values) = 0;
};

// Whether to divide a step.
inline bool is_divided(const Peers* peers, int64_t multiplications) {
  return peers != nullptr && multiplications >= peers->least_work();
}

// The ranges of the peers, which begin at multiples of `grain`, and that of this process.
std::vector<Range> shares_of(const Peers& peers, int64_t count, int64_t grain = 1);
Range own_share(const Peers& peers, int64_t count, int64_t grain = 1);

// The part of an operand in a range of an axis.
Operand range_of(const Operand& whole, int axis, Range range);

}  // namespace pippin::engine
