#include "pippin/base/bytes.h"
#include "pippin/io/json.h"

// Text that parses must round-trip to the same text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const std::string text = Json::parse(as_text(std::as_bytes(std::span(data, size))), "x").dump();
    if (Json::parse(text, "again").dump() != text) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
