// Working memory of one call.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/unwritten.h"

namespace pippin::engine {

// Allocates `bytes` for each thread, aligned to 64 bytes.
class CallScratch {
 public:
  CallScratch(int64_t bytes, int64_t threads)
      : memory_(make_unwritten<std::byte>(
            static_cast<size_t>(align_up<int64_t>(bytes, 64) * threads + 64))) {}

  std::byte* data() const {
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    return memory_.get() + (64 - address % 64) % 64;
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace pippin::engine
