// States in the memory of the CPU.
#pragma once

#include <vector>

#include "pippin/engine/run/memory.h"
#include "pippin/engine/state.h"

namespace pippin::engine {

class HostState : public StateMemory {
 public:
  static constexpr const char* kDevice = "cpu";
  explicit HostState(const std::vector<mil::Feature>& states);

  void reset() override;
  ByteSpan bytes(size_t index) const override;
  MutableByteSpan bytes(size_t index) override;  // in place, valid as long as the state
  std::unique_ptr<StateMemory> clone() const override;
  bool is_here() const override { return true; }

 private:
  std::vector<Memory> arrays_;
};

}  // namespace pippin::engine
