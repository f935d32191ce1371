#include "pippin/base/error.h"
#include "pippin/io/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    parse_yaml({reinterpret_cast<const char*>(data), size}, "x.yaml").dump();
  } catch (const Error&) {
  }
  return 0;
}
