#include "pippin/base/error.h"
#include "pippin/sound/file_format.h"
#include "pippin/sound/sound_reader.h"
#include "pippin/sound/sound_source.h"

// The formats that the project reads itself: WAV, and samples without a header. Others are
// libsndfile's and mpg123's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  using namespace pippin::sound;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  try {
    if (file_format(bytes, "x.wav") == FileFormat::Wav) {
      if (const auto source = open_wav(bytes, "x.wav")) {
        std::vector<float> frames(static_cast<size_t>(source->channels) * 3);
        int64_t count = 0;
        while (const size_t read = source->read(frames)) count += static_cast<int64_t>(read);
        if (count != source->num_frames) __builtin_trap();
      }
    }
  } catch (const Error&) {
  }
  try {
    SoundReader::pcm16(bytes, "raw", {44100, 1 + static_cast<int>(size % 3)}, 16000).read_all();
  } catch (const Error&) {
  }
  return 0;
}
