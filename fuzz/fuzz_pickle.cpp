#include "pippin/base/error.h"
#include "pippin/io/pickle.h"
#include "pippin/io/torch_file.h"

// The input is read as a .bin file and as its pickle.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  try {
    OwnedTensors own(bytes.size());
    for (const TensorInfo& tensor : parse_torch_file(bytes, "x.bin", own)) {
      // Every returned byte is readable.
      volatile std::byte last{};
      for (const std::byte byte : tensor.bytes) last = byte;
      static_cast<void>(last);
    }
  } catch (const Error&) {
  }
  try {
    read_tensor_pickle(bytes, "data.pkl", {.max_values = 1 << 16});
  } catch (const Error&) {
  }
  return 0;
}
