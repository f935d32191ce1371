#include "pippin/base/error.h"
#include "pippin/image/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    parse_picture(std::as_bytes(std::span(data, size)), "x.png", {1 << 16});
  } catch (const Error&) {
  }
  return 0;
}
