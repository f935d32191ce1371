#include "pippin/cuda/fake/fake_memory.h"

#include <cstring>

namespace pippin::cuda {

FakeMemory::~FakeMemory() {
  while (!sizes_.empty()) release(sizes_.begin()->first);
}

std::byte* FakeMemory::allocate(size_t size) {
  auto* const data = static_cast<std::byte*>(::operator new(size, kAlignment));
  std::memset(data, 0xFF, size);
  sizes_[data] = size;
  bytes_ += size;
  return data;
}

bool FakeMemory::release(const void* data) {
  const auto found = sizes_.find(static_cast<const std::byte*>(data));
  if (found == sizes_.end()) return false;
  bytes_ -= found->second;
  ::operator delete(const_cast<std::byte*>(found->first), kAlignment);
  sizes_.erase(found);
  return true;
}

bool FakeMemory::has(const void* data, size_t size) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  auto found = sizes_.upper_bound(begin);
  if (found == sizes_.begin()) return false;
  --found;
  const auto offset = static_cast<size_t>(begin - found->first);
  return offset <= found->second && size <= found->second - offset;
}

}  // namespace pippin::cuda
