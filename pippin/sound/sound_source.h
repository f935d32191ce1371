// Interleaved samples of several channels, from any kind of input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin::sound {

class SoundSource {
 public:
  virtual ~SoundSource() = default;

  // Reads up to out.size() / channels frames and returns their number: 0 at the end.
  virtual size_t read(std::span<float> out) = 0;

  int64_t sampling_rate = 0;
  int channels = 0;
  std::optional<int64_t> num_frames;  // as the file states it, if it does
  bool is_exact = false;              // fewer frames than stated are an error
};

// A file, whose bytes must outlive the result. `name` starts error messages.
std::unique_ptr<SoundSource> open_sound_file(ByteSpan file, const std::string& name);
// A WAV file of integers or floats; null for samples of other types. Throws InvalidFile for a file
// that is shorter than its header states. One of unknown length, as programs write it to pipes,
// ends with the file.
std::unique_ptr<SoundSource> open_wav(ByteSpan file, const std::string& name);
// Files of MP3, and of other formats.
std::unique_ptr<SoundSource> open_mp3(ByteSpan file, const std::string& name);
std::unique_ptr<SoundSource> open_sndfile(ByteSpan file, const std::string& name, bool is_exact);

// Signed 16-bit little-endian samples. The stream must outlive the result.
std::unique_ptr<SoundSource> open_pcm16(std::istream& stream, const std::string& name,
                                        int64_t sampling_rate, int channels);
std::unique_ptr<SoundSource> open_pcm16(ByteSpan samples, const std::string& name,
                                        int64_t sampling_rate, int channels);
// The samples must outlive the result.
std::unique_ptr<SoundSource> open_floats(std::span<const float> samples, int64_t sampling_rate,
                                         int channels);

}  // namespace pippin::sound
