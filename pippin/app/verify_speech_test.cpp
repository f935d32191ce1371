// Models of speech compared on a recording.
#include <filesystem>
#include <fstream>
#include <span>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/facts/report_json.h"
#include "pippin/app/verify.h"
#include "pippin/base/testing.h"
#include "pippin/models/gguf/ggml_testing.h"
#include "pippin/speech/folder_testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using models::GgmlWriter;
using speech::WhisperFolder;

class VerifySpeech : public testing::Test {
 protected:
  VerifySpeech() {
    write_model("whisper", 1);
    constexpr double kSeconds = 6;  // two windows
    const std::vector<float> samples = WhisperFolder::recording(kSeconds);
    std::ofstream file(recording(), std::ios::binary);
    const auto put = [&](auto value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    const auto bytes = static_cast<uint32_t>(samples.size() * sizeof(float));
    file << "RIFF";
    put(bytes + 36);
    file << "WAVEfmt ";
    put(uint32_t{16});
    for (const uint16_t part : {3, 1}) put(part);
    for (const int64_t rate : {WhisperFolder::kRate, WhisperFolder::kRate * 4}) {
      put(static_cast<uint32_t>(rate));
    }
    for (const uint16_t part : {4, 32}) put(part);
    file << "data";
    put(bytes);
    for (const float sample : samples) put(sample);
  }

  fs::path path(const char* name) const { return scratch_ / name; }
  std::string recording() const { return path("talk.wav").string(); }
  void write_model(const char* name, uint64_t seed) const {
    fs::create_directory(path(name));
    const WhisperFolder written(path(name), seed);
  }
  ModelChoice choose(const char* name) const {
    ModelChoice choice;
    choice.path = path(name).string();
    choice.load.threads = 1;
    return choice;
  }
  VerifyResult compare(const char* model, const VerifyLimits& limits = {}) const {
    VerifyOptions options;
    options.agreement.greedy_tokens = 8;
    options.limits = limits;
    return verify_speech(choose(model), choose("whisper"), recording(), options);
  }

 private:
  TempDir scratch_;
};

TEST_F(VerifySpeech, APackageAgreesWithItsSource) {
  convert(path("whisper"), path("m.mlpackage"));
  const VerifyResult result =
      compare("m.mlpackage", {.max_kl = 1e-3, .min_top1 = 90, .max_part_difference = 0.01});
  EXPECT_TRUE(result.holds()) << to_json(result);
  EXPECT_EQ(result.agreement.tokens, 16);  // 8 of each window
  EXPECT_EQ(result.agreement.greedy_tokens, 16);
  ASSERT_EQ(result.agreement.parts.size(), 1u);
  EXPECT_EQ(result.agreement.parts[0].part, "encoder");
  EXPECT_LT(result.agreement.parts[0].difference, 0.01);
  EXPECT_GT(result.agreement.parts[0].difference, 0);  // fp16
  ConvertOptions options;
  options.family = "whisperkit";
  convert(path("whisper"), path("packages"), options);
  const VerifyResult kit = compare("packages", {.max_kl = 0.01, .max_part_difference = 0.02});
  EXPECT_TRUE(kit.holds()) << to_json(kit);
}

TEST_F(VerifySpeech, FewerBitsAreFurtherAway) {
  const auto write = [&](const char* name, GgmlWriter::Type type) {
    GgmlWriter writer(path("whisper"), type);
    for (int byte = 0; byte < 256; ++byte) writer.tokens.emplace_back(1, static_cast<char>(byte));
    writer.write(path(name));
    return compare(name).agreement;
  };
  const runtime::Agreement eight = write("ggml-8.bin", GgmlWriter::Q8_0);
  const runtime::Agreement five = write("ggml-5.bin", GgmlWriter::Q5_0);
  EXPECT_GT(eight.mean_kl, 0);
  EXPECT_GT(five.mean_kl, eight.mean_kl);
  EXPECT_GT(eight.parts[0].difference, 0);
  EXPECT_GT(five.parts[0].difference, eight.parts[0].difference);
}

TEST_F(VerifySpeech, AnotherModelExceedsTheLimits) {
  write_model("other", 2);
  const VerifyResult result = compare(
      "other", {.max_kl = 1e-3, .min_top1 = 99, .max_part_difference = 0.01, .same_greedy = true});
  EXPECT_EQ(result.broken.size(), 4u) << to_json(result);
  EXPECT_TRUE(result.agreement.first_difference.has_value());
}

TEST_F(VerifySpeech, WhatCannotBeCompared) {
  EXPECT_ERROR(compare("whisper", {.max_step_difference = 1}), ErrorCode::InvalidArgument,
               "not measured on recordings");
  EXPECT_ERROR(verify(choose("whisper"), choose("whisper"), {{1, 2}, std::nullopt}),
               ErrorCode::InvalidArgument, "is compared on a recording");
  EXPECT_ERROR(verify_speech(choose("whisper"), choose("whisper"), path("absent.wav").string()),
               ErrorCode::NotFound, "absent.wav");
}

}  // namespace
}  // namespace pippin::app
