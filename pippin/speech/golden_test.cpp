// Tokens that transformers writes for recordings, greedily, with nothing suppressed.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/mapped_file.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/ggml.h"
#include "pippin/io/npz.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/gguf/ggml_testing.h"
#include "pippin/models/gguf/ggml_whisper.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/candidates.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/sequence_model.h"

namespace pippin::speech {
namespace {

template <typename T>
std::vector<T> read(const NpzFile& golden, const char* name) {
  const NpyArray array = golden.read(name);
  return {array.as<T>().begin(), array.as<T>().end()};
}

class SpeechGolden : public testing::TestWithParam<const char*> {};

TEST_P(SpeechGolden, GreedyTokensOfARecording) {
  PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/speech/{}", GetParam()));
  const NpzFile golden = NpzFile::open(folder / "golden.npz");
  const mil::Model program = models::build_encoder_decoder(
      folder, {.compute = models::BuildOptions::Compute::Float32Direct});
  ThreadPool pool(2);
  SequenceModel model(
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{}));
  const auto extractor = sound::FeatureExtractor::read(folder / "preprocessor_config.json");
  const auto samples = read<float>(golden, "waveform");
  RecordingSource source(extractor, samples, model.shape());
  const auto features = source.window(0, source.frames());
  const auto expected_features = read<float>(golden, "feat_input_features");
  ASSERT_EQ(features.size(), expected_features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    ASSERT_NEAR(features[i], expected_features[i], 1e-4);
  }

  const auto prompt = read<int32_t>(golden, "gen_prompt");
  const auto expected = read<int32_t>(golden, "gen_ids");
  const auto decoder = model.encode(features);
  const LogitRules rules;
  const auto row = decoder->feed(prompt);
  const std::vector<float> logits(row.begin(), row.end());
  constexpr int32_t kNoEnd = -1;
  const PromptedDecoder prompted{model, *decoder, logits, rules, kNoEnd, std::ssize(expected)};
  const Candidate greedy = decode_greedily(prompted);
  EXPECT_EQ(greedy.tokens, expected);

  // One beam writes the same text, and several one that is at least as probable.
  decoder->truncate(std::ssize(prompt));
  const auto one = search_beams(prompted, 1, 1);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].tokens, expected);
  decoder->truncate(std::ssize(prompt));
  const auto several = search_beams(prompted, 5, 1);
  ASSERT_EQ(several.size(), 5U);
  EXPECT_GE(several[0].sum_logprob, greedy.sum_logprob - 1e-4);
}

// A GGML file of the checkpoint gives the same logits.
TEST_P(SpeechGolden, GgmlFileOfTheCheckpoint) {
  PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/speech/{}", GetParam()));
  const TempDir scratch;
  const std::string name = "ggml-golden.bin";
  models::GgmlWriter(folder, models::GgmlWriter::F32).write(scratch / name);
  const auto mapped = MappedFile::open(scratch / name);
  constexpr int64_t kStart = 4;
  std::ofstream(scratch / "config.json")
      << models::ggml_config(parse_ggml(mapped->bytes(), name), kStart, name);
  const NpzFile golden = NpzFile::open(folder / "golden.npz");
  const auto features = read<float>(golden, "feat_input_features");
  const auto targets = read<int32_t>(golden, "decoder_input_ids");
  ThreadPool pool(2);
  std::vector<std::vector<float>> logits;
  for (const std::filesystem::path& source : {folder, scratch.path()}) {
    const mil::Model program = models::build_encoder_decoder(
        source, {.compute = models::BuildOptions::Compute::Float32Direct});
    SequenceModel model(
        std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{}));
    const auto decoder = model.encode(features);
    const auto row = decoder->feed(targets);
    logits.emplace_back(row.begin(), row.end());
  }
  EXPECT_EQ(logits[1], logits[0]);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeechGolden, testing::Values("whisper_80", "whisper_short"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace pippin::speech
