// Uninitialized bytes: the threads that compute them touch them first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pippin/base/bytes.h"

namespace pippin::compress {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size) : data_(new std::byte[size]), size_(size) {}

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  uint8_t* codes() { return reinterpret_cast<uint8_t*>(data_.get()); }
  const uint8_t* codes() const { return reinterpret_cast<const uint8_t*>(data_.get()); }
  // A contiguous range, so that spans can be made from it.
  std::byte* begin() { return data_.get(); }
  std::byte* end() { return data_.get() + size_; }
  const std::byte* begin() const { return data_.get(); }
  const std::byte* end() const { return data_.get() + size_; }
  // Keeps the first `size` bytes.
  void shrink(size_t size) { size_ = size; }
  void clear() {
    data_.reset();
    size_ = 0;
  }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_ = 0;
};

}  // namespace pippin::compress
