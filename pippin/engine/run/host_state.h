// States in the memory of the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/engine/run/memory.h"
#include "pippin/engine/state.h"

namespace pippin::engine {

class HostState : public StateMemory {
 public:
  static constexpr const char* kDevice = "cpu";
  explicit HostState(const std::vector<mil::Feature>& states);

  void reset() override;
  void read_rows(size_t index, const StateRows& rows, std::byte* to,
                 uint64_t stride) const override;
  void write_rows(size_t index, const StateRows& rows, const std::byte* from,
                  uint64_t stride) override;
  void copy_rows(size_t index, const StateRows& rows, const StateMemory& from) override;
  bool share(size_t index, const StateMemory& from) override;
  std::unique_ptr<StateMemory> clone() const override;
  MutableByteSpan here(size_t index) const override;
  std::optional<uint64_t> bytes_present() const override;

 private:
  std::vector<std::shared_ptr<Memory>> arrays_;
};

}  // namespace pippin::engine
