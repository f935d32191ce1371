// The protobuf of a model. What is read is written and read again to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mil/serialize.h"
#include "pippin/mil/summary.h"
#include "pippin/mil/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const mil::Model model = mil::parse_model(std::as_bytes(std::span(data, size)), "x");
    const std::string bytes = mil::serialize_model(model);
    if (mil::serialize_model(mil::parse_model(as_byte_span(bytes), "y")) != bytes) std::abort();
    mil::verify(model.program);
    mil::summary_text(model);
    mil::summary_json(model);
  } catch (const Error&) {
  }
  return 0;
}
