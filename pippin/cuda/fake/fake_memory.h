// The memory of the fake driver: the host's, with known bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>

namespace pippin::cuda {

class FakeMemory {
 public:
  FakeMemory() = default;
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;
  ~FakeMemory();

  // Aligned to 256 bytes, of exactly that size for sanitizers, filled with 0xFF: NaN, -1.
  std::byte* allocate(size_t size);
  bool release(const void* data);  // false: it is not an allocation
  // Whether one allocation has all these bytes.
  bool has(const void* data, size_t size) const;
  uint64_t bytes() const { return bytes_; }
  size_t count() const { return sizes_.size(); }

 private:
  static constexpr std::align_val_t kAlignment{256};
  std::map<const std::byte*, size_t> sizes_;
  uint64_t bytes_ = 0;
};

}  // namespace pippin::cuda
