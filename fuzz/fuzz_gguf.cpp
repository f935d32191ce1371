// A GGUF file.
#include "pippin/base/error.h"
#include "pippin/io/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const GgufContent content = parse_gguf(std::as_bytes(std::span(data, size)), "x.gguf");
    size_t bytes = 0;
    for (const GgufTensor& tensor : content.tensors) bytes += tensor.data.size();
    if (content.tensors.size() == 1 && bytes > size) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
