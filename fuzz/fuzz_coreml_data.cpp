// A compiled model's coremldata.bin, and a pipeline's list of stages.
#include "pippin/base/error.h"
#include "pippin/mil/package/coreml_data.h"
#include "pippin/mil/proto/serialize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  try {
    mil::parse_model_names(bytes);
  } catch (const Error&) {
  }
  try {
    const mil::Model model = mil::parse_description(mil::parse_coreml_data(bytes).description);
    const std::string once = mil::serialize_description(model);
    const mil::Model again = mil::parse_description(as_byte_span(once));
    if (mil::serialize_description(again) != once) __builtin_trap();
  } catch (const Error&) {
  }
  try {
    for (const ByteSpan candidate : mil::whole_model_candidates(bytes)) {
      try {
        mil::parse_model(candidate);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
