#include "pippin/base/bytes.h"
#include "pippin/image/processors/image_processor.h"

// A configuration gives inputs of the shape that they state, or one error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  using namespace pippin::image;
  const auto check = [](const auto& array) {
    size_t count = 1;
    for (const int64_t length : array.shape) count *= static_cast<size_t>(length);
    if (count != array.values.size()) __builtin_trap();
  };
  try {
    const auto processor = ImageProcessor::parse(
        Json::parse(as_text(std::as_bytes(std::span(data, size))), "x.json", kPythonJson));
    const Picture picture{5, 3, 3, std::vector<uint8_t>(45, 77)};
    const ImageInputs inputs = processor.process(picture);
    check(inputs.pixel_values);
    for (const auto& [name, array] : inputs.sizes) check(array);
    for (const auto& [name, array] : inputs.further) check(array);
  } catch (const Error&) {
  }
  return 0;
}
