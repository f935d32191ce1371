#include "pippin/sound/sound_reader.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/sound/wav_testing.h"

namespace pippin::sound {
namespace {

std::vector<float> read(const std::string& file, int64_t rate = 0, const SoundLimits& limits = {}) {
  return read_sound(as_byte_span(file), "x.wav", rate, limits);
}

std::vector<float> tone(size_t size, double rate, double hertz) {
  std::vector<float> samples(size);
  for (size_t i = 0; i < size; ++i) {
    samples[i] = static_cast<float>(
        0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  }
  return samples;
}

TEST(SoundReader, ConvertsIntegersAndFloats) {
  const auto expect = [](const WavFormat& format, const std::string& data,
                         const std::vector<float>& expected) {
    EXPECT_EQ(read(wav_file(format, data)), expected) << format.bits;
  };
  expect({.bits = 8}, std::string("\x80\x00\xff\x40", 4), {0, -1, 127.0F / 128, -0.5F});
  expect({.bits = 16}, bytes_of<int16_t>({0, -32768, 32767, 1}),
         {0, -1, 32767.0F / 32768, 1.0F / 32768});
  expect({.bits = 24}, std::string("\0\0\x80\xff\xff\x7f\0\0\x40", 9),
         {-1, 8388607.0F / 8388608, 0.5F});
  expect({.bits = 32}, bytes_of<int32_t>({1 << 30, std::numeric_limits<int32_t>::min()}),
         {0.5F, -1});
  // Floats keep their values, also outside of [-1, 1].
  expect({.tag = 3, .bits = 32}, bytes_of<float>({0.1F, -2.5F, 1e-30F}), {0.1F, -2.5F, 1e-30F});
  expect({.tag = 3, .bits = 64}, bytes_of<double>({0.25, 3}), {0.25F, 3});
}

TEST(SoundReader, AveragesChannels) {
  EXPECT_EQ(read(wav_file({.tag = 3, .channels = 2, .bits = 32},
                          bytes_of<float>({1, 3, -1, 0, 3e38F, 3e38F}))),
            (std::vector<float>{2, -0.5F, 3e38F}));
  EXPECT_EQ(read(wav_file({.channels = 32}, std::string(64 * 5, '\0'))), std::vector<float>(5));
  EXPECT_ERROR(read(wav_file({.channels = 33}, std::string(66, '\0'))), ErrorCode::LimitExceeded,
               "x.wav: 33 channels (limit: 32)");
}

TEST(SoundReader, NamesTheSampleThatIsNotFinite) {
  std::vector<float> samples(20000);
  samples[2 * 8000 + 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(read(wav_file({.tag = 3, .channels = 2, .bits = 32}, bytes_of(samples))),
               ErrorCode::InvalidFile, "x.wav: the sample of channel 1 at 8000 (0.500 s) is nan");
  EXPECT_ERROR(SoundReader::floats(samples, "y", {16000, 1}, 8000).read_all(),
               ErrorCode::InvalidFile, "y: the sample of channel 0 at 16001 (1.000 s) is nan");
}

TEST(SoundReader, TakesFilesOfFewSamples) {
  EXPECT_EQ(read(wav_file({}, "")), std::vector<float>());
  EXPECT_EQ(read(wav_file({}, ""), 8000), std::vector<float>());
  EXPECT_EQ(read(wav_file({}, bytes_of<int16_t>({16384}))), std::vector<float>{0.5F});
  EXPECT_EQ(read(wav_file({}, bytes_of<int16_t>({16384})), 32000).size(), 2u);
  EXPECT_EQ(read(wav_file({}, bytes_of<int16_t>({16384})), 8000).size(), 1u);
}

TEST(SoundReader, RejectsWhatIsNotSound) {
  EXPECT_ERROR(read(""), ErrorCode::InvalidFile, "x.wav: the file is empty");
  EXPECT_ERROR(read("Dear diary"), ErrorCode::Unsupported,
               "x.wav: an unknown format (supported: WAV");
  EXPECT_ERROR(read(std::string("\0\0\0\x20"
                                "ftypM4A ",
                                12)),
               ErrorCode::Unsupported, "x.wav: an MP4 file");
  EXPECT_ERROR(read("\xff\xf1\x50\x80"), ErrorCode::Unsupported, "x.wav: a stream of AAC");
  EXPECT_ERROR(read("ID3\4\1\1\1\1\1\1"), ErrorCode::InvalidFile, "x.wav: cannot be read as MP3");
  EXPECT_ERROR(read("\x1a\x45\xdf\xa3"), ErrorCode::Unsupported, "x.wav: a WebM");
  EXPECT_ERROR(read("RIFF\x10"), ErrorCode::Unsupported, "x.wav: a RIFF file without sound");
  EXPECT_ERROR(read("RIFF1234WAVE"), ErrorCode::InvalidFile, "x.wav: ");
  EXPECT_ERROR(read("fLaC"), ErrorCode::InvalidFile, "x.wav: ");
  EXPECT_ERROR(read("OggS"), ErrorCode::InvalidFile, "x.wav: ");
  EXPECT_ERROR(read_sound("/nonexistent/x.wav", 16000), ErrorCode::NotFound, "/nonexistent/x.wav");
  EXPECT_ERROR(read(wav_file({.sampling_rate = 10}, "ab")), ErrorCode::Unsupported,
               "x.wav: sampling rate of 10 Hz (1000 to 768000 are supported)");
}

TEST(SoundReader, ComparesTheLengthWithTheHeader) {
  const std::string data = bytes_of(std::vector<int16_t>(1000, 5));
  EXPECT_ERROR(read(wav_file({}, data, 4000)), ErrorCode::InvalidFile,
               "x.wav: 2000 bytes of samples, the header states 4000");
  // Programs that write to a pipe do not know the length.
  for (int64_t unknown : {int64_t{0xffffffff}, int64_t{0x7fffffff}}) {
    EXPECT_EQ(read(wav_file({}, data, unknown)).size(), 1000u) << unknown;
  }
  EXPECT_ERROR(read(wav_file({}, data, 0)), ErrorCode::InvalidFile,
               "x.wav: the header states 0 bytes of samples, 2000 bytes follow");
  EXPECT_EQ(read(wav_file({}, "") + "LIST" + std::string(4, '\0')).size(), 0u);
}

TEST(SoundReader, LimitsTheDuration) {
  const std::string file = wav_file({}, std::string(2 * 16000 * 3, '\0'));
  EXPECT_EQ(read(file, 0, {.max_seconds = 3}).size(), 48000u);
  EXPECT_ERROR(read(file, 0, {.max_seconds = 2.9}), ErrorCode::LimitExceeded,
               "x.wav: 3 s of sound (limit: 3 s)");
  // A stream states no length.
  std::istringstream stream(std::string(2 * 16000 * 10, '\0'));
  EXPECT_ERROR(SoundReader::pcm16(stream, "-", {}, 16000, {.max_seconds = 2}).read_all(),
               ErrorCode::LimitExceeded, "-: 2 s of sound (limit: 2 s)");
}

TEST(SoundReader, ReadsRawSamples) {
  const std::string bytes = bytes_of<int16_t>({16384, -16384, -32768, 0});
  EXPECT_EQ(SoundReader::pcm16(as_byte_span(bytes), "raw", {16000, 1}, 0).read_all(),
            (std::vector<float>{0.5F, -0.5F, -1, 0}));
  std::istringstream stream(bytes);
  EXPECT_EQ(SoundReader::pcm16(stream, "-", {16000, 2}, 0).read_all(),
            (std::vector<float>{0, -0.5F}));
  const std::string partial = bytes.substr(0, 7);
  EXPECT_ERROR(SoundReader::pcm16(as_byte_span(partial), "raw", {16000, 2}, 0),
               ErrorCode::InvalidFile, "raw: ends with 3 bytes of a frame of 4");
  std::istringstream partial_stream(partial);
  EXPECT_ERROR(SoundReader::pcm16(partial_stream, "-", {16000, 1}, 0).read_all(),
               ErrorCode::InvalidFile, "-: ends with 1 bytes of a frame of 2");
  EXPECT_ERROR(SoundReader::floats(std::vector<float>(3), "f", {16000, 2}, 0),
               ErrorCode::InvalidArgument, "the number of samples, 3, is not a multiple of 2");
}

TEST(SoundReader, ResamplesTones) {
  for (double from : {8000.0, 11025.0, 22050.0, 44100.0, 48000.0, 96000.0}) {
    const auto samples = tone(static_cast<size_t>(from), from, 1000);
    const auto out =
        SoundReader::floats(samples, "tone", {static_cast<int64_t>(from), 1}, 16000).read_all();
    ASSERT_EQ(out.size(), 16000u) << from;
    const auto expected = tone(16000, 16000, 1000);
    double worst = 0;  // apart from the ends, where the tone sets in
    for (size_t i = 200; i < 15800; ++i) {
      worst = std::max(worst, std::abs(double{out[i]} - expected[i]));
    }
    EXPECT_LT(worst, 2e-4) << from;
  }
}

// Frequencies that the new rate cannot represent are removed, not folded.
TEST(SoundReader, RemovesHighTones) {
  const auto samples = tone(48000, 48000, 12000);
  const auto out = SoundReader::floats(samples, "tone", {48000, 1}, 16000).read_all();
  for (size_t i = 200; i < out.size() - 200; ++i) ASSERT_LT(std::abs(out[i]), 1e-4);
}

TEST(SoundReader, PiecesEqualTheWhole) {
  const auto samples = tone(30000, 44100, 700);
  const std::string file =
      wav_file({.tag = 3, .sampling_rate = 44100, .bits = 32}, bytes_of(samples));
  for (int64_t rate : {0, 16000, 48000}) {
    const auto whole = read(file, rate);
    for (size_t piece : {1, 7, 4096, 5000}) {
      auto reader = SoundReader::parse(as_byte_span(file), "x.wav", rate);
      EXPECT_EQ(reader.sampling_rate(), rate == 0 ? 44100 : rate);
      EXPECT_EQ(reader.stated_length(), whole.size());
      EXPECT_EQ(reader.input_format().sampling_rate, 44100);
      std::vector<float> joined, buffer(piece);
      while (const size_t count = reader.read(buffer)) {
        joined.insert(joined.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(count));
      }
      ASSERT_EQ(joined.size(), whole.size()) << rate << " " << piece;
      for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(joined[i], whole[i], 1e-6);
    }
  }
}

TEST(SoundReader, ReadsAPath) {
  const TempDir folder;
  const auto path = folder.path() / "tone.txt";  // the name does not matter
  std::ofstream(path, std::ios::binary) << wav_file({}, bytes_of<int16_t>({16384}));
  EXPECT_EQ(read_sound(path, 16000), std::vector<float>{0.5F});
}

}  // namespace
}  // namespace pippin::sound
