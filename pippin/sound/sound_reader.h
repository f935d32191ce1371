// Reads sound as mono samples of a requested rate, in pieces or whole.
//
// Files: WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU and CAF, detected by their first bytes
// whatever their names are. Channels are averaged. Integers become floats in [-1, 1); floats stay
// as they are. A file that is shorter than its header states is an error for WAV and FLAC; MP3
// files and streams need not state a length. MP3 files need mpg123, and files other than WAV files
// of integers and floats need libsndfile: both are loaded on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin::sound {

// Checked before memory is allocated, and while samples are read.
struct SoundLimits {
  double max_seconds = 8 * 3600;  // 1.8 GB of samples at 16 kHz
  int max_channels = 32;
};

// Samples without a header.
struct RawFormat {
  int64_t sampling_rate = 16000;
  int channels = 1;
};

class SoundReader {
 public:
  // Read files. `sampling_rate` is that of the samples that read() returns; 0 keeps the file's.
  // Throw NotFound, Io, InvalidFile, Unsupported and LimitExceeded, with the name.
  static SoundReader open(const std::filesystem::path& path, int64_t sampling_rate,
                          const SoundLimits& limits = {});
  // The bytes of a file, which must outlive the result. `name` starts error messages.
  static SoundReader parse(ByteSpan file, const std::string& name, int64_t sampling_rate,
                           const SoundLimits& limits = {});

  // Read samples of signed 16 bits, little-endian. The stream, or the bytes, must outlive the
  // result.
  static SoundReader pcm16(std::istream& stream, const std::string& name, const RawFormat& format,
                           int64_t sampling_rate, const SoundLimits& limits = {});
  static SoundReader pcm16(ByteSpan samples, const std::string& name, const RawFormat& format,
                           int64_t sampling_rate, const SoundLimits& limits = {});
  // Reads floats in memory, which must outlive the result.
  static SoundReader floats(std::span<const float> samples, const std::string& name,
                            const RawFormat& format, int64_t sampling_rate,
                            const SoundLimits& limits = {});

  SoundReader(SoundReader&&) noexcept;
  SoundReader& operator=(SoundReader&&) noexcept;
  ~SoundReader();

  // Returns the rate of the samples that read() returns.
  int64_t sampling_rate() const;
  // Returns the rate and the number of channels of the input.
  RawFormat input_format() const;
  // Returns the length that the input states, in samples that read() returns. The actual number
  // may differ for MP3 files.
  std::optional<int64_t> stated_length() const;

  // Fills `out` from its start and returns the number of samples, less than out.size() only at the
  // end. Throws InvalidFile for a sample that is not finite, with its position, and for a file that
  // cannot be decoded or ends early; LimitExceeded.
  size_t read(std::span<float> out);
  // Reads all remaining samples.
  std::vector<float> read_all();

 private:
  struct State;
  explicit SoundReader(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Returns the samples of a file. Throws as SoundReader.
std::vector<float> read_sound(const std::filesystem::path& path, int64_t sampling_rate,
                              const SoundLimits& limits = {});
// Returns the samples of a file in memory. `name` starts error messages.
std::vector<float> read_sound(ByteSpan file, const std::string& name, int64_t sampling_rate,
                              const SoundLimits& limits = {});

}  // namespace pippin::sound
