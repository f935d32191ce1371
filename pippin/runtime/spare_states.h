// The states of a model's sequences. Those of sequences that have ended are kept for new ones:
// writing to memory for the first time takes a page fault for every few tokens and head.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "pippin/base/platform/free_memory.h"
#include "pippin/engine/state.h"

namespace pippin::runtime {

class SpareStates {
 public:
  // Keeps at most `limit` bytes of memory; by default a sixteenth of what the process may use.
  SpareStates() : SpareStates(total_memory() / 16) {}
  explicit SpareStates(uint64_t limit) : limit_(limit) {}

  // Zeros: the state that was kept last, or a new one. All calls have the same features and
  // options. Throws LimitExceeded.
  engine::State take(const std::vector<mil::Feature>& features,
                     const engine::ComputeOptions& compute);
  // Of a sequence that ends. Drops it if its device does not tell how much memory it takes.
  void keep(engine::State&& state) noexcept;

 private:
  struct Spare {
    engine::State state;
    uint64_t bytes;
  };

  const uint64_t limit_;
  std::mutex lock_;
  std::vector<Spare> spares_;
  uint64_t bytes_ = 0;  // of all
};

}  // namespace pippin::runtime
