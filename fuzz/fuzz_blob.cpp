#include "pippin/base/error.h"
#include "pippin/io/blob_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const BlobFile file = BlobFile::parse(std::as_bytes(std::span(data, size)), "x");
    unsigned sum = 0;
    for (uint64_t offset = 0; offset < size; offset += 64) {
      try {
        for (const std::byte byte : file.read(offset).data) sum += static_cast<unsigned>(byte);
      } catch (const Error&) {
      }
    }
    volatile unsigned used = sum;
    static_cast<void>(used);
    file.offsets();
  } catch (const Error&) {
  }
  return 0;
}
