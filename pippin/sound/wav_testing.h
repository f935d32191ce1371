// For tests only: WAV files.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace pippin::sound {

struct WavFormat {
  uint16_t tag = 1;  // 1: integers, 3: floats
  uint16_t channels = 1;
  uint32_t sampling_rate = 16000;
  uint16_t bits = 16;
};

inline std::string little_endian(uint64_t value, size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}

// Returns a file with the samples in `data`. `stated` is the length in the header, if it differs.
inline std::string wav_file(const WavFormat& format, const std::string& data, int64_t stated = -1) {
  const auto length = stated < 0 ? data.size() : static_cast<uint64_t>(stated);
  const uint64_t frame = uint64_t{format.channels} * format.bits / 8;
  std::string file = "RIFF";
  file += little_endian(36 + length, 4);
  file += "WAVEfmt ";
  file += little_endian(16, 4) + little_endian(format.tag, 2);
  file += little_endian(format.channels, 2) + little_endian(format.sampling_rate, 4);
  file += little_endian(format.sampling_rate * frame, 4) + little_endian(frame, 2);
  file += little_endian(format.bits, 2);
  file += "data";
  file += little_endian(length, 4);
  file += data;
  return file;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace pippin::sound
