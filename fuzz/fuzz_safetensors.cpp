#include "pippin/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    unsigned sum = 0;
    for (const TensorInfo& tensor :
         parse_safetensors(std::as_bytes(std::span(data, size)), "x").tensors) {
      for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
    }
    if (sum > 255u * size) __builtin_trap();  // tensors do not overlap
  } catch (const Error&) {
  }
  return 0;
}
