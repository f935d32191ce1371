#include "pippin/cuda/launchers/weight_store.h"

#include <cstring>

namespace pippin::cuda {

UploadedBytes WeightStore::upload(const void* host, uint64_t size) {
  return upload(host, "as stored", size, 1, [&](std::byte* to, uint64_t begin, uint64_t end) {
    std::memcpy(to, static_cast<const std::byte*>(host) + begin, end - begin);
  });
}

}  // namespace pippin::cuda
