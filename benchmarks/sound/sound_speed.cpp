// Times of reading sound and of Whisper's features, in CPU time of one thread.
//
//   pippin-sound-speed [FILE]...      each file as well as synthetic sound
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/sound/sound_reader.h"

namespace pippin::sound {
namespace {

double seconds_of(const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < 10; ++i) {
    const std::clock_t begin = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

std::vector<float> synthetic(size_t size) {
  std::vector<float> samples(size);
  for (size_t i = 0; i < size; ++i) {
    const auto t = static_cast<float>(i);
    samples[i] = 0.3F * std::sin(0.05F * t) + 0.1F * std::sin(0.0001F * t * t);
  }
  return samples;
}

void measure_features(int bands) {
  const auto extractor = FeatureExtractor::parse(Json::parse(
      fmt::format(R"({{"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": {}}})",
                  bands),
      "config"));
  const auto samples = synthetic(extractor.max_samples());
  fmt::print("Whisper's features of 30 s, {} bands: {:.1f} ms\n", bands,
             1e3 * seconds_of([&] { extractor(samples); }));
}

void measure_rate(int64_t rate) {
  const auto samples = synthetic(static_cast<size_t>(30 * rate));
  const double seconds = seconds_of([&] {
    SoundReader::floats(samples, "samples", {rate, 1}, 16000).read_all();
  });
  fmt::print("{} Hz to 16000 Hz: {:.0f} times as fast as the sound\n", rate, 30 / seconds);
}

void measure_file(const char* path) {
  const auto samples = read_sound(path, 0);
  auto reader = SoundReader::open(path, 0);
  const double length =
      static_cast<double>(samples.size()) / static_cast<double>(reader.sampling_rate());
  const double seconds = seconds_of([&] { read_sound(path, 0); });
  fmt::print("{}: {:.1f} s, read {:.0f} times as fast as the sound\n", path, length,
             length / seconds);
}

}  // namespace
}  // namespace pippin::sound

int main(int argc, char** argv) {
  using namespace pippin::sound;
  try {
    for (int bands : {80, 128}) measure_features(bands);
    for (int64_t rate : {8000, 22050, 44100, 48000}) measure_rate(rate);
    for (int i = 1; i < argc; ++i) measure_file(argv[i]);
  } catch (const pippin::Error& error) {
    fmt::print(stderr, "pippin-sound-speed: error: {}\n", error.what());
    return 1;
  }
  return 0;
}
