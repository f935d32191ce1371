// Constant data on the device, uploaded once for all plans that use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace pippin::cuda {

// Memory of the device, released with the last owner.
struct Uploaded {
  const std::byte* data = nullptr;  // an address of the device, aligned to 256
  uint64_t size = 0;
};
using UploadedBytes = std::shared_ptr<const Uploaded>;

class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // `size` bytes made from the data at `host`, in the form of that name (kernels of one form expect
  // one layout); the same array for the same three while anyone holds it. fill(to, begin, end)
  // writes bytes [begin, end) to `to`; begin is a multiple of `grain`, and so is end but for the
  // last part, since the array is made and sent in parts. Throws LimitExceeded if the device's
  // memory is short, Error(Device).
  virtual UploadedBytes upload(
      const void* host, std::string_view form, uint64_t size, uint64_t grain,
      const std::function<void(std::byte* to, uint64_t begin, uint64_t end)>& fill) = 0;
  // The bytes as they are.
  UploadedBytes upload(const void* host, uint64_t size);
};

}  // namespace pippin::cuda
