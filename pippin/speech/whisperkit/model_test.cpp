// Folders that models::WhisperKit writes, compared with transformers' numbers and with the
// checkpoint.
#include "pippin/speech/whisperkit/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/testing.h"
#include "pippin/families/whisperkit.h"
#include "pippin/io/npz.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/whisperkit.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/candidates.h"
#include "pippin/speech/sequence_model.h"
#include "pippin/speech/whisperkit/features.h"
#include "pippin/speech/whisperkit/split.h"

namespace pippin::speech {
namespace {

namespace fs = std::filesystem;
namespace whisperkit = families::whisperkit;

void write_parts(const fs::path& source, const fs::path& folder, mil::DataType type) {
  models::WhisperKitOptions options;
  options.type = type;
  for (const models::PackagePart& part : models::WhisperKit(source, options).parts()) {
    mil::write_package(part.model, folder / fmt::format("{}.mlpackage", part.stem));
  }
}

double distance(std::span<const float> found, std::span<const float> expected) {
  EXPECT_EQ(found.size(), expected.size());
  double most = 0;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    most = std::max(most, std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  return most;
}

class WrittenFolder {
 public:
  WrittenFolder(const fs::path& source, mil::DataType type) : folder_("whisperkit") {
    write_parts(source, folder_.path(), type);
  }

  const fs::path& path() const { return folder_.path(); }
  WhisperKitModel open() {
    return {runtime::PackageFolder(path()), pool_, engine::ComputeOptions{}};
  }
  WhisperKitMel mel(const WhisperKitModel& model) {
    runtime::PackageFolder packages(path());
    return {packages.package(whisperkit::kMelPart),
            whisperkit::kMelPart,
            pool_,
            engine::ComputeOptions{},
            model.bins(),
            model.shape()};
  }

 private:
  TemporaryFolder folder_;
  ThreadPool pool_{2};
};

struct Golden {
  explicit Golden(const fs::path& folder) : file(NpzFile::open(folder / "golden.npz")) {}
  std::vector<float> floats(const char* name) const { return read<float>(name); }
  std::vector<int32_t> ids(const char* name) const { return read<int32_t>(name); }
  template <typename T>
  std::vector<T> read(const char* name) const {
    const NpyArray array = file.read(name);
    return {array.as<T>().begin(), array.as<T>().end()};
  }

  NpzFile file;
};

struct Case {
  const char* model;
  mil::DataType type;
  double logits, features;  // the largest distances
};

class WhisperKitGolden : public testing::TestWithParam<Case> {};

TEST_P(WhisperKitGolden, LogitsAndTokensOfARecording) {
  const auto& [name, type, tolerance, mel_tolerance] = GetParam();
  PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/speech/{}", name));
  const Golden golden(folder);
  WrittenFolder written(folder, type);
  WhisperKitModel model = written.open();
  EXPECT_EQ(model.context(), 64);
  EXPECT_EQ(model.vocab_size(), 200);

  WhisperKitMel mel = written.mel(model);
  const auto samples = golden.floats("waveform");
  WhisperKitSource source(mel, samples);
  EXPECT_LE(distance(source.window(0, source.frames()), golden.floats("feat_input_features")),
            mel_tolerance);

  const auto decoder = model.encode(golden.floats("feat_input_features"));
  const auto targets = golden.ids("decoder_input_ids");
  const auto expected = golden.floats("logits");
  for (size_t i = 0; i < targets.size(); ++i) {
    EXPECT_LE(distance(decoder->feed({&targets[i], 1}), std::span(expected).subspan(i * 200, 200)),
              tolerance);
  }

  decoder->truncate(0);
  const auto row = decoder->feed(golden.ids("gen_prompt"));
  const std::vector<float> logits(row.begin(), row.end());
  const LogitRules rules;
  constexpr int32_t kNoEnd = -1;
  const auto tokens = golden.ids("gen_ids");
  EXPECT_EQ(decode_greedily({model, *decoder, logits, rules, kNoEnd, std::ssize(tokens)}).tokens,
            tokens);
}

INSTANTIATE_TEST_SUITE_P(Models, WhisperKitGolden,
                         testing::Values(Case{"whisper_80", mil::DataType::Float32, 1e-4, 1e-3},
                                         Case{"whisper_short", mil::DataType::Float32, 1e-4, 1e-3},
                                         Case{"whisper_80", mil::DataType::Float16, 1e-2, 2e-3},
                                         Case{"whisper_short", mil::DataType::Float16, 1e-2, 2e-3}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.model,
                                              mil::to_string(test.param.type));
                         });

TEST(WhisperKitModel, ForksAndTruncationsAreIndependent) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  const Golden golden(folder);
  WrittenFolder written(folder, mil::DataType::Float32);
  WhisperKitModel model = written.open();
  const auto decoder = model.encode(golden.floats("feat_input_features"));
  const auto feed = [](WindowDecoder& to, std::vector<int32_t> ids) {
    const auto row = to.feed(ids);
    return std::vector<float>(row.begin(), row.end());
  };
  const std::vector<float> straight = feed(*decoder, {4, 7, 65, 9});
  decoder->truncate(2);
  EXPECT_EQ(decoder->position(), 2);
  const auto fork = decoder->fork();
  const std::vector<float> other = feed(*decoder, {5, 9});
  EXPECT_NE(other, straight);
  EXPECT_EQ(feed(*fork, {65, 9}), straight);

  fork->truncate(3);
  decoder->truncate(3);
  WindowDecoder* const both[] = {decoder.get(), fork.get()};
  const int32_t ids[] = {9, 9};
  const auto rows = model.feed_each(both, ids);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(std::equal(rows[0].begin(), rows[0].end(), other.begin(), other.end()));
  EXPECT_TRUE(std::equal(rows[1].begin(), rows[1].end(), straight.begin(), straight.end()));

  const std::vector<int32_t> many(61, 4);
  EXPECT_ERROR(fork->feed(many), ErrorCode::LimitExceeded, "the decoder has 64 slots");
  EXPECT_ERROR(feed(*fork, {200}), ErrorCode::InvalidArgument, "200 is not one of 200 tokens");
}

TEST(WhisperKitModel, AlignmentIsTheMeanOverTheHeads) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  const Golden golden(folder);
  const auto features = golden.floats("feat_input_features");
  const auto ids = golden.ids("decoder_input_ids");
  const mil::Model program = models::build_encoder_decoder(
      folder, {.compute = models::BuildOptions::Compute::Float32Direct});
  ThreadPool pool(2);
  SequenceModel whole(
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{}));
  const Alignment heads = whole.align(*whole.encode(features), ids);
  ASSERT_GT(heads.heads, 1);
  const auto size = static_cast<size_t>(heads.tokens * heads.positions);
  std::vector<float> mean(size);
  for (size_t i = 0; i < heads.weights.size(); ++i) {
    mean[i % size] += heads.weights[i] / static_cast<float>(heads.heads);
  }

  WrittenFolder written(folder, mil::DataType::Float32);
  WhisperKitModel model = written.open();
  ASSERT_TRUE(model.can_align());
  const Alignment found = model.align(*model.encode(features), ids);
  EXPECT_EQ(found.heads, 1);
  EXPECT_EQ(found.tokens, heads.tokens);
  EXPECT_EQ(found.positions, heads.positions);
  EXPECT_LE(distance(found.weights, mean), 1e-5);
  EXPECT_LE(distance(found.logits, heads.logits), 1e-4);
}

TEST(WhisperKitModel, WhatDependsOnTheWindowAloneIsSplitOff) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  WrittenFolder written(folder, mil::DataType::Float32);
  const fs::path package = written.path() / "TextDecoder.mlpackage";
  mil::Model once = mil::read_package(package), each = mil::read_package(package);
  const auto count = [](const mil::Model& model, const char* type) {
    int64_t found = 0;
    mil::for_each_operation(model.program.function("main").block(), [&](const auto& operation) {
      if (operation.type() == type) ++found;
    });
    return found;
  };
  EXPECT_TRUE(split_at_input(once, each, "no_input").empty());
  const int64_t all = count(each, "conv");
  const auto between = split_at_input(once, each, whisperkit::kStates);
  // Keys and values of 3 heads in 2 layers.
  EXPECT_EQ(between.size(), 12U);
  ASSERT_EQ(once.description("main").inputs.size(), 1U);
  EXPECT_EQ(once.description("main").inputs.front().name, whisperkit::kStates);
  EXPECT_EQ(once.description("main").outputs.size(), between.size());
  EXPECT_EQ(each.description("main").inputs.size(), 6 + between.size());
  EXPECT_EQ(count(once, "conv"), 4);
  EXPECT_EQ(count(each, "conv"), all - 4);
}

TEST(WhisperKitModel, RefusesPartsThatDoNotBelongTogether) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  PIPPIN_SHARED_OR_SKIP(longer, "models2026/speech/whisper_80");
  WrittenFolder written(folder, mil::DataType::Float16);
  WhisperKitModel model = written.open();
  const fs::path decoder = written.path() / "TextDecoder.mlpackage";
  const WrittenFolder other(longer, mil::DataType::Float16);
  fs::remove_all(decoder);
  EXPECT_ERROR(written.open(), ErrorCode::NotFound, "holds no TextDecoder");
  fs::copy(other.path() / "TextDecoder.mlpackage", decoder, fs::copy_options::recursive);
  EXPECT_ERROR(written.open(), ErrorCode::InvalidFile,
               "TextDecoder.mlpackage: 'encoder_output_embeds' has 1500 positions for 400 frames");
  fs::remove_all(decoder);
  fs::copy(other.path() / "MelSpectrogram.mlpackage", decoder, fs::copy_options::recursive);
  EXPECT_ERROR(written.open(), ErrorCode::Unsupported, "TextDecoder.mlpackage: takes 'audio'");

  const fs::path mel = written.path() / "MelSpectrogram.mlpackage";
  fs::remove_all(mel);
  fs::copy(other.path() / "MelSpectrogram.mlpackage", mel, fs::copy_options::recursive);
  EXPECT_ERROR(written.mel(model), ErrorCode::InvalidFile,
               "MelSpectrogram: 'audio' has the shape [480000]; [64000] is expected");
}

}  // namespace
}  // namespace pippin::speech
