// Zeroed memory that costs nothing until it is touched: arenas and states.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/base/bytes.h"

namespace pippin::engine {

class Memory {
 public:
  Memory() = default;
  // Throws LimitExceeded, naming `what`, if the system cannot reserve that much address space.
  Memory(uint64_t size, const char* what);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  std::byte* data() const { return data_; }  // aligned to pages
  uint64_t size() const { return size_; }
  void zero();
  uint64_t bytes_present() const;  // that it takes now, in pages
  // Pages of zeros cost the copy nothing either.
  Memory copy(const char* what) const;

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace pippin::engine
