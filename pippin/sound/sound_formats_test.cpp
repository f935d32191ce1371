// Every format of files, written by libsndfile.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

#include <gtest/gtest.h>
#include <sndfile.h>

#include "pippin/base/loaded_library.h"
#include "pippin/base/testing.h"
#include "pippin/sound/sound_reader.h"

// libsndfile 1.2.0 does not free the state of Vorbis if its headers are damaged.
// NOLINTNEXTLINE(bugprone-reserved-identifier): read by the sanitizer
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init\n";
}

namespace pippin::sound {
namespace {

constexpr int kRate = 48000;  // Opus has no 44100
constexpr size_t kToneFrames = 24000;

std::vector<float> two_tones() {
  std::vector<float> samples(2 * kToneFrames);
  for (size_t i = 0; i < kToneFrames; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / kRate;
    samples[2 * i] = static_cast<float>(0.4 * std::sin(440 * t));
    samples[2 * i + 1] = static_cast<float>(0.4 * std::sin(1000 * t));
  }
  return samples;
}

// The functions that write.
struct Writer {
  decltype(&sf_format_check) format_check;
  decltype(&sf_open) open;
  decltype(&sf_writef_float) writef_float;
  decltype(&sf_close) close;
};

Writer load_writer() {
  const LoadedLibrary library("sndfile", 1, "");
  Writer writer{};
  library.find("sf_format_check", writer.format_check);
  library.find("sf_open", writer.open);
  library.find("sf_writef_float", writer.writef_float);
  library.find("sf_close", writer.close);
  return writer;
}

// Returns the file, or nothing if this build of libsndfile cannot write the format.
std::string written(int format, const std::vector<float>& samples) {
  const Writer writer = load_writer();
  const TempDir folder;
  const auto path = folder.path() / "sound";
  SF_INFO info = {};
  info.samplerate = kRate;
  info.channels = 2;
  info.format = format;
  if (writer.format_check(&info) == 0) return "";
  SNDFILE* file = writer.open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) return "";
  const auto frames = static_cast<sf_count_t>(samples.size() / 2);
  EXPECT_EQ(writer.writef_float(file, samples.data(), frames), frames);
  writer.close(file);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Case {
  const char* name;
  int format;
  double tolerance;  // of a sample; root mean square for lossy formats
  size_t extra = 0;  // frames of padding that a format may add
};

const Case format_cases[] = {
    {"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1e-4},
    {"wavex", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, 1e-6},
    {"rf64", SF_FORMAT_RF64 | SF_FORMAT_FLOAT, 1e-6},
    {"u-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.02},
    {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 1e-6},
    {"vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.02},
    {"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 0.02},
    {"mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 0.02, 3000},
    {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 1e-4},
    {"au", SF_FORMAT_AU | SF_FORMAT_PCM_16, 1e-4},
    {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 1e-4},
};

TEST(SoundFormats, ReadTwoTones) {
  const auto samples = two_tones();
  for (const Case& test : format_cases) {
    SCOPED_TRACE(test.name);
    const std::string file = written(test.format, samples);
    ASSERT_FALSE(file.empty()) << "libsndfile cannot write it";
    // The names are wrong for all but one.
    const auto read = read_sound(as_byte_span(file), "x.wav", 0);
    ASSERT_GE(read.size(), kToneFrames);
    ASSERT_LE(read.size(), kToneFrames + test.extra);
    double squares = 0;
    for (size_t i = 0; i < kToneFrames; ++i) {
      const double difference = read[i] - (samples[2 * i] + samples[2 * i + 1]) / 2;
      squares += difference * difference;
    }
    EXPECT_LT(std::sqrt(squares / kToneFrames), test.tolerance);
    const size_t resampled = read_sound(as_byte_span(file), "x.wav", 16000).size();
    EXPECT_EQ(resampled, (read.size() + 1) / 3);
  }
}

// Some programs write the tags of MP3 files before FLAC.
TEST(SoundFormats, ReadFlacAfterATag) {
  const std::string tag = std::string("ID3\4\0\0\0\0\1\2", 10) + std::string(130, 'x');
  const std::string file = tag + written(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, two_tones());
  EXPECT_EQ(read_sound(as_byte_span(file), "x.mp3", 0).size(), kToneFrames);
}

TEST(SoundFormats, RejectTruncatedFiles) {
  const auto samples = two_tones();
  for (const Case& test : format_cases) {
    SCOPED_TRACE(test.name);
    const std::string file = written(test.format, samples);
    for (double part : {0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999}) {
      const std::string cut =
          file.substr(0, static_cast<size_t>(part * static_cast<double>(file.size())));
      try {
        EXPECT_LE(read_sound(as_byte_span(cut), "x.wav", 0).size(), kToneFrames + test.extra);
        EXPECT_NE(test.format & SF_FORMAT_TYPEMASK, SF_FORMAT_FLAC) << part;
        EXPECT_FALSE(cut.starts_with("RIFF") && cut.size() > 100) << part;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::InvalidFile ||
                    error.code() == ErrorCode::Unsupported)
            << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
}

TEST(SoundFormats, SurviveDamage) {
  testing::internal::CaptureStderr();
  const auto samples = two_tones();
  for (const Case& test : format_cases) {
    SCOPED_TRACE(test.name);
    const std::string file = written(test.format, samples);
    for (size_t i = 0; i < 60; ++i) {
      std::string damaged = file;
      // The header and places all over the file.
      const size_t place = i < 40 ? i : (i - 40) * file.size() / 20;
      damaged[place] = static_cast<char>(damaged[place] ^ (i % 2 == 0 ? 0xff : 0x41));
      try {
        const auto read = read_sound(as_byte_span(damaged), "x.wav", 0, {.max_seconds = 60});
        EXPECT_LE(read.size(), size_t{60} * 768000);
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace pippin::sound
