#include "pippin/base/bytes.h"
#include "pippin/sound/feature_extractor.h"

// A configuration gives features of the shape that they state, or one error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  using namespace pippin::sound;
  try {
    const auto extractor = FeatureExtractor::parse(
        Json::parse(as_text(std::as_bytes(std::span(data, size))), "x.json", kPythonJson));
    if (extractor.max_samples() / extractor.hop() > 1000) return 0;  // slow
    std::vector<float> samples(3000);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i % 17) - 8;
    const Features features = extractor(samples);
    size_t count = 1;
    for (int64_t length : features.shape) count *= static_cast<size_t>(length);
    if (count != features.values.size()) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
