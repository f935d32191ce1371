// A compiled model's metadata.json. Its interface can be written as protobuf.
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/proto/serialize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  try {
    const Json json = Json::parse({reinterpret_cast<const char*>(data), size}, "metadata.json");
    mil::metadata_model_type(json);
    const mil::Model model = mil::parse_metadata(json);
    const std::string bytes = mil::serialize_description(model);
    const mil::Model again = mil::parse_description(as_byte_span(bytes));
    if (mil::serialize_description(again) != bytes) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
