// States of sequences that have ended, for new ones of the same model: writing to memory for the
// first time takes a page fault for every few tokens and head.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "pippin/engine/state.h"

namespace pippin::runtime {

class SpareStates {
 public:
  // Keeps at most that many bytes of memory.
  explicit SpareStates(uint64_t limit) : limit_(limit) {}

  // The state kept last, all zeros; nothing if there is none.
  std::optional<engine::State> take();
  // Drops it instead if its device does not tell how much memory it takes. `state` has the same
  // features as the others.
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
