// MIL text. Text that parses can be printed, and the printed text parses and prints unchanged.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  std::string printed;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const mil::Program program = mil::parse_text(text, "x");
    printed = mil::print(program);
    mil::verify(program);
  } catch (const Error&) {
    if (printed.empty()) return 0;
  }
  if (mil::print(mil::parse_text(printed, "printed")) != printed) std::abort();
  return 0;
}
