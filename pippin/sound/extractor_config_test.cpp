#include "pippin/sound/extractor_config.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/sound/kinds.h"

namespace pippin::sound {
namespace {

FeatureExtractor parse(std::string_view type, std::string_view members = "") {
  return FeatureExtractor::parse(
      Json::parse(fmt::format(R"({{"feature_extractor_type": "{}"{}{}}})", type,
                              members.empty() ? "" : ", ", members),
                  "p.json"));
}

FeatureExtractor whisper(std::string_view members) {
  return parse("WhisperFeatureExtractor", members);
}

TEST(ExtractorConfig, RejectsWhatChangesTheResult) {
  EXPECT_ERROR(parse("FooExtractor"), ErrorCode::Unsupported,
               "p.json: feature_extractor_type: 'FooExtractor' is not supported (supported: AST");
  EXPECT_ERROR(whisper(R"("foo": 1)"), ErrorCode::Unsupported,
               "p.json: foo: WhisperFeatureExtractor has no such key");
  EXPECT_ERROR(whisper(R"("dither": 0.1)"), ErrorCode::Unsupported, "p.json: dither: 0.1 (only 0)");
  EXPECT_ERROR(whisper(R"("padding_value": 1)"), ErrorCode::Unsupported,
               "padding_value: 1 (only 0)");
  EXPECT_ERROR(whisper(R"("padding_side": "left")"), ErrorCode::Unsupported,
               "padding_side: 'left'");
  EXPECT_ERROR(whisper(R"("n_samples": 5)"), ErrorCode::InvalidFile,
               "p.json: n_samples: 5 is not chunk_length * sampling_rate = 480000");
  EXPECT_ERROR(whisper(R"("nb_max_frames": 5)"), ErrorCode::InvalidFile, "= 3000");
  EXPECT_ERROR(parse("EncodecFeatureExtractor", R"("overlap": 0.1)"), ErrorCode::Unsupported,
               "overlap: a number");
  EXPECT_ERROR(parse("EncodecFeatureExtractor", R"("feature_size": 2)"), ErrorCode::Unsupported,
               "more than one channel");
  EXPECT_ERROR(parse("ClapFeatureExtractor"), ErrorCode::Unsupported,
               "truncation: 'fusion' (only 'rand_trunc') is not supported");
  EXPECT_ERROR(parse("GraniteSpeechFeatureExtractor", R"("melspec_kwargs": {"f_min": 1})"),
               ErrorCode::Unsupported, "melspec_kwargs.f_min");
  EXPECT_ERROR(parse("Gemma3nAudioFeatureExtractor", R"("per_bin_stddev": [1])"),
               ErrorCode::InvalidFile, "per_bin_stddev: 1 numbers for 128 bands");
  EXPECT_ERROR(parse("Gemma3nAudioFeatureExtractor", R"("max_frequency": 100)"),
               ErrorCode::InvalidFile, "max_frequency: 100 is not above min_frequency");
}

TEST(ExtractorConfig, RejectsSizesOutOfRange) {
  EXPECT_ERROR(whisper(R"("feature_size": 0)"), ErrorCode::InvalidFile, "feature_size");
  EXPECT_ERROR(whisper(R"("feature_size": 100000)"), ErrorCode::InvalidFile, "feature_size");
  EXPECT_ERROR(whisper(R"("n_fft": 1)"), ErrorCode::InvalidFile, "n_fft");
  EXPECT_ERROR(whisper(R"("n_fft": 134)"), ErrorCode::Unsupported,
               "n_fft: 134, with a prime factor above 61");
  EXPECT_ERROR(whisper(R"("hop_length": 0)"), ErrorCode::InvalidFile, "hop_length");
  EXPECT_ERROR(whisper(R"("hop_length": 1, "chunk_length": 3600)"), ErrorCode::LimitExceeded,
               "hop_length: 57600000 frames of 80 values (limit: 8388608 values)");
  EXPECT_ERROR(whisper(R"("sampling_rate": 3)"), ErrorCode::InvalidFile, "sampling_rate");
  EXPECT_ERROR(parse("ParakeetFeatureExtractor", R"("win_length": 513)"), ErrorCode::InvalidFile,
               "win_length");
  EXPECT_ERROR(parse("ASTFeatureExtractor", R"("std": 0)"), ErrorCode::InvalidFile,
               "std: 0 is not between");
  EXPECT_ERROR(FeatureExtractor::parse(Json::parse("[]", "p.json")), ErrorCode::InvalidFile,
               "expected an object");
  EXPECT_ERROR(FeatureExtractor::parse(Json::parse("{}", "p.json")), ErrorCode::InvalidFile,
               "feature_extractor_type");
}

// Keys that follow from others, and those of transformers' own.
TEST(ExtractorConfig, AcceptsKeysWithoutEffect) {
  const auto extractor = whisper(
      R"("chunk_length": 1, "n_samples": 16000, "nb_max_frames": 100, "mel_filters": [[0.5]],
         "processor_class": "WhisperProcessor", "padding_side": "right", "dither": 0.0)");
  EXPECT_EQ(extractor.max_samples(), 16000u);
  EXPECT_EQ(extractor.hop(), 160u);
  EXPECT_EQ(extractor.sampling_rate(), 16000);
  EXPECT_EQ(extractor.type(), "WhisperFeatureExtractor");
}

TEST(ExtractorConfig, AcceptsKeysOfPictures) {
  parse("Gemma3nAudioFeatureExtractor",
        R"("image_processor_type": "SiglipImageProcessor", "do_resize": true)");
  EXPECT_ERROR(parse("Gemma3nAudioFeatureExtractor", R"("do_resize": true)"),
               ErrorCode::Unsupported, "do_resize");
}

TEST(ExtractorConfig, ReadsAProcessorsPart) {
  const TempDir folder;
  const auto path = folder.path() / "processor_config.json";
  {
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(R"({"feature_extractor": {"feature_extractor_type": "Wav2Vec2FeatureExtractor"}})",
               file);
    std::fclose(file);
  }
  EXPECT_EQ(FeatureExtractor::read(path).type(), "Wav2Vec2FeatureExtractor");
  EXPECT_EQ(FeatureExtractor::open(folder.path()).type(), "Wav2Vec2FeatureExtractor");
  EXPECT_ERROR(FeatureExtractor::open(folder.path() / "none"), ErrorCode::NotFound,
               "none: there is neither a preprocessor_config.json");
}

// Every kind gives finite numbers or one clear error for recordings of all lengths.
TEST(FeatureKinds, TakeAnyLengthAndSilence) {
  for (const KindRow& row : kKinds) {
    SCOPED_TRACE(row.type);
    const auto extractor =
        parse(row.type, row.type == "ClapFeatureExtractor" ? R"("truncation": "rand_trunc")" : "");
    for (size_t size : {0, 1, 2, 15, 16, 159, 160, 200, 319, 320, 399, 400, 401, 512, 513, 560, 640,
                        799, 16000}) {
      for (float level : {0.0F, 1e-20F, 1.0F, 1e18F}) {
        std::vector<float> samples(size, level);
        for (size_t i = 0; i < size; i += 3) samples[i] = -level;
        try {
          const Features features = extractor(samples);
          size_t count = 1;
          for (int64_t length : features.shape) count *= static_cast<size_t>(length);
          ASSERT_EQ(count, features.values.size());
          ASSERT_GT(count, 0u);
          ASSERT_TRUE(ranges::all_of(features.values, [](float x) { return std::isfinite(x); }))
              << size << " " << level;
          EXPECT_EQ(features.mask.empty(), features.mask_name.empty());
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << error.what();
          EXPECT_LT(size, 1000u) << error.what();
        }
      }
    }
    std::vector<float> samples(16000);
    samples[3] = std::numeric_limits<float>::infinity();
    EXPECT_ERROR(extractor(samples), ErrorCode::InvalidArgument, "sample 3 of 16000 is inf");
  }
}

}  // namespace
}  // namespace pippin::sound
