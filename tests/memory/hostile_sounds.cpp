#include "pippin/http/multipart.h"
#include "pippin/io/zip_testing.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/sound/sound_reader.h"
#include "pippin/sound/wav_testing.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

using namespace std::string_literals;

// The header of a file of 16 kHz that states a number of samples, and no frames.
std::string flac(uint64_t num_samples) {
  // 20 bits of the rate, 3 of channels - 1, 5 of bits - 1, 36 of the number.
  const uint64_t packed = uint64_t{16000} << 44 | uint64_t{15} << 36 | num_samples;
  std::string file = "fLaC\x80\0\0\x22\x10\0\x10\0\0\0\0\0\0\0"s;
  for (int shift = 56; shift >= 0; shift -= 8) file += static_cast<char>(packed >> shift);
  return file + std::string(16, '\0');
}

std::string form(std::string_view headers, size_t count) {
  return repeated(
             "--X\r\nContent-Disposition:form-data;name=a\r\n" + std::string(headers) + "\r\n\r\n",
             count) +
         "--X--";
}

}  // namespace

std::vector<Hostile> hostile_sounds() {
  using sound::wav_file;
  const auto read = [](const std::string& file) {
    sound::read_sound(as_byte_span(file), "x", 16'000);
  };
  const auto extract = [](const std::string& file) {
    sound::FeatureExtractor::parse(Json::parse(file, "x"))(std::vector<float>(1'000));
  };
  const auto read_form = [](const std::string& file) {
    http::parse_form("multipart/form-data; boundary=X", file);
  };
  // A byte becomes 16 floats, in a vector that grows by a quarter.
  constexpr double kSlow = 16 * 4 * 2.5;
  // Tables of filters have up to 5 MB, a fixed number of frames up to 32 MB.
  constexpr double kTable = 5'000, kFrames = 32e6 / 70;
  return {
      {"wav, low rate", kSlow,
       wav_file({.sampling_rate = 1'000, .bits = 8}, std::string(100'000, 'x')), read},
      {"wav, many channels", 4, wav_file({.channels = 65'535}, std::string(200'000, 'x')), read},
      {"wav, stream", 64, wav_file({}, std::string(1'000, 'x'), 0xffffffff), read},
      {"wav, longer", 4, wav_file({}, "", 0x70000000), read},
      {"wav, chunks", 4, "RIFF....WAVE" + repeated("LIST\0\0\0\0"s, 100'000), read},
      {"flac, 8 hours", 64, flac(uint64_t{16'000} * 3600 * 8), read},
      {"flac, 49 days", 64, flac((uint64_t{1} << 36) - 1), read},
      {"wav, odd rate", kTable, wav_file({.sampling_rate = 191'999}, std::string(1'000, 'x')),
       read},
      {"extractor, large transform", kTable,
       R"({"feature_extractor_type": "ParakeetFeatureExtractor", "n_fft": 16384,
           "feature_size": 1024, "hop_length": 400})",
       extract},
      {"extractor, long", kFrames,
       R"({"feature_extractor_type": "ASTFeatureExtractor", "max_length": 40000})", extract},
      {"extractor, too long", 64,
       R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 3600})", extract},
      {"form, parts", 16, form("", 1'000), read_form},
      {"form, many parts", 4, form("", 100'000), read_form},
      {"form, headers", 4, form("A: " + std::string(15'000, 'x'), 900), read_form},
      {"form, names", 4, form("Content-Type: " + std::string(15'000, 'x'), 900), read_form},
  };
}

}  // namespace pippin
