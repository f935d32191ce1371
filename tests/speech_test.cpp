// Compares models that recognize speech with Hugging Face's own outputs: the encoder's states, the
// logits and the tokens that decoding finds, from the folder in fp32 and from the package in fp16.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/runtime/speech/speech_recognizer.h"
#include "tests/broken_config.h"
#include "tests/speech_testing.h"

namespace pippin {
namespace {

using namespace testing_speech;

// With the files of the folder, so that it can be recorded again.
void write_package_of(const std::filesystem::path& source, const std::filesystem::path& path) {
  mil::WriteOptions options;
  options.extra_files = models::speech_files(source);
  mil::write_package(models::build_speech(source), path, options);
}

Program from_package(const std::filesystem::path& folder) {
  const TempDir out;
  write_package_of(folder, out / "model.mlpackage");
  return Program(mil::read_package(out / "model.mlpackage"));
}

// Programs of a package of the folder, and of a package of that package.
Program from_second_package(const std::filesystem::path& folder) {
  const TempDir out;
  write_package_of(folder, out / "first.mlpackage");
  const auto& files = models::speech_files(out / "first.mlpackage");
  EXPECT_TRUE(std::any_of(files.begin(), files.end(), [](const mil::ExtraFile& file) {
    return file.name == "preprocessor_config.json";
  }));
  write_package_of(out / "first.mlpackage", out / "second.mlpackage");
  return Program(mil::read_package(out / "second.mlpackage"));
}

class SpeechCtc : public testing::TestWithParam<const char*> {};

TEST_P(SpeechCtc, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/speech/") + GetParam());
  expect_ctc(from_folder(folder), Golden(folder), 1e-4);
}

TEST_P(SpeechCtc, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/speech/") + GetParam());
  expect_ctc(from_package(folder), Golden(folder), 1e-2);
}

TEST_P(SpeechCtc, PackageOfAPackage) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/speech/") + GetParam());
  expect_ctc(from_second_package(folder), Golden(folder), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeechCtc,
                         testing::Values("hubert", "lasr_ctc", "parakeet_ctc", "wav2vec2_base",
                                         "wav2vec2_bert", "wavlm"),
                         [](const auto& test) { return std::string(test.param); });

// The golden's tokens without blanks: frames are the sums of the durations before.
struct Generated {
  std::vector<SpeechToken> tokens;
  int64_t frame = 0;  // after them

  Generated(const Golden& golden, int32_t blank, int64_t frames) {
    const std::vector<int64_t> ids = golden.ints("gen_sequences");
    const std::vector<int64_t> durations = golden.ints("gen_durations");
    for (size_t i = 1; i < ids.size(); ++i) {
      const int64_t end = std::min(frame + std::max<int64_t>(durations[i], 1), frames);
      if (ids[i] != blank) tokens.push_back({static_cast<int32_t>(ids[i]), frame, end, 0});
      frame += durations[i];
    }
  }
};

void expect_transducer(Program program, const Golden& golden, int64_t layers, double tolerance) {
  const auto encoded = program.run(speech::kEncode, golden);
  EXPECT_LE(difference(encoded.at(speech::kStates), golden.doubles("encoder_last_hidden_state")),
            tolerance);
  const std::vector<double>& rows = encoded.at(speech::kEncoded);
  EXPECT_LE(difference(rows, golden.doubles("fwd_pooler_output")), tolerance);

  const NpyArray logits = golden.npz.read("logits");  // (1, frames, tokens, scores)
  const auto frames = static_cast<int64_t>(logits.shape.at(1));
  const auto scores = static_cast<int64_t>(logits.shape.at(3));
  const std::vector<double> all_logits = logits.to_doubles();
  const int64_t features = std::ssize(rows) / frames;
  std::vector<float> hidden(static_cast<size_t>(layers * features)), cell = hidden;
  double worst = 0;
  const std::vector<int64_t> ids = golden.ints("decoder_input_ids");
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<int32_t>(ids[i]);
    engine::NamedHostTensors inputs;
    inputs.emplace(speech::kToken, tensor(mil::DataType::Int32, {1, 1}, &id, sizeof(id)));
    inputs.emplace(speech::kHidden, floats({layers, 1, features}, hidden));
    inputs.emplace(speech::kCell, floats({layers, 1, features}, cell));
    const auto predicted = program.run(speech::kPredict, inputs);
    hidden = to_floats(predicted.at(speech::kNextHidden));
    cell = to_floats(predicted.at(speech::kNextCell));
    engine::NamedHostTensors joint;
    joint.emplace(speech::kEncoded, floats({1, frames, features}, to_floats(rows)));
    joint.emplace(speech::kPredicted,
                  floats({1, 1, features}, to_floats(predicted.at(speech::kPredicted))));
    const std::vector<double> joined = program.run(speech::kJoin, joint).at(speech::kLogits);
    ASSERT_EQ(std::ssize(joined), frames * scores);
    for (int64_t k = 0; k < std::ssize(joined); ++k) {
      const int64_t frame = k / scores, score = k % scores;
      const int64_t place = (frame * std::ssize(ids) + static_cast<int64_t>(i)) * scores + score;
      worst = std::max(
          worst, std::abs(joined[static_cast<size_t>(k)] - all_logits[static_cast<size_t>(place)]));
    }
  }
  EXPECT_LE(worst, tolerance);

  SpeechRecognizer recognizer = program.recognizer();
  const Generated expected(golden, recognizer.blank(), frames);
  std::vector<SpeechToken> tokens = without_probabilities(recognizer.recognize(golden.values));
  // Hugging Face stops at a number of tokens, which can be before the last frame.
  if (expected.frame < frames && tokens.size() > expected.tokens.size()) {
    EXPECT_GE(tokens[expected.tokens.size()].begin, expected.frame);
    tokens.resize(expected.tokens.size());
  }
  EXPECT_EQ(tokens, expected.tokens);
  EXPECT_GE(tokens.size(), 8U);
}

class SpeechTransducer : public testing::TestWithParam<const char*> {};

int64_t prediction_layers(const std::filesystem::path& folder) {
  return Json::load(folder / "config.json").get_int("num_decoder_layers");
}

TEST_P(SpeechTransducer, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/speech/") + GetParam());
  expect_transducer(from_folder(folder), Golden(folder), prediction_layers(folder), 1e-4);
}

TEST_P(SpeechTransducer, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/speech/") + GetParam());
  expect_transducer(from_package(folder), Golden(folder), prediction_layers(folder), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeechTransducer, testing::Values("parakeet_rnnt", "parakeet_tdt"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Speech, TellsWhatItTakes) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_base");
  PIPPIN_SHARED_OR_SKIP(features_folder, "models2026/speech/parakeet_tdt");
  Program program = from_folder(folder);
  SpeechRecognizer waveform = program.recognizer();
  EXPECT_EQ(waveform.input().bins, 0);
  EXPECT_EQ(waveform.input().shortest, 400);
  EXPECT_EQ(waveform.input().longest, 60 * 16000);
  EXPECT_EQ(waveform.input().sampling_rate, 16000);
  EXPECT_EQ(waveform.input().row_samples, 1);
  EXPECT_DOUBLE_EQ(waveform.seconds_per_frame(), 0.02);
  EXPECT_EQ(waveform.vocab_size(), 32);
  const std::vector<float> samples(60 * 16000 + 1);
  EXPECT_ERROR(waveform.recognize(std::span(samples).first(399)), ErrorCode::InvalidArgument,
               "399 samples: the model takes 400 at least");
  EXPECT_ERROR(waveform.recognize(samples), ErrorCode::LimitExceeded, "takes 960000 at most");
  EXPECT_NO_THROW(waveform.recognize(std::span(samples).first(400)));

  Program other = from_folder(features_folder);
  SpeechRecognizer features = other.recognizer();
  EXPECT_EQ(features.input().bins, 128);
  EXPECT_EQ(features.input().shortest, 1);
  EXPECT_EQ(features.input().longest, 6000);
  EXPECT_DOUBLE_EQ(features.seconds_per_frame(), 0.08);
  EXPECT_EQ(features.vocab_size(), 65);
  EXPECT_EQ(features.blank(), 64);
  EXPECT_EQ(features.input().row_samples, 160);
  EXPECT_ERROR(features.recognize(std::span(samples).first(130)), ErrorCode::InvalidArgument,
               "130 numbers are not rows of 128 features");
  // One row is one frame, whose only distance is 0.
  EXPECT_NO_THROW(features.recognize(std::span(samples).first(128)));
}

TEST(Speech, RefusesInputsThatAreTooLong) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/parakeet_ctc");
  const Golden golden(folder);
  // 16 of 29 frames at a time.
  Program short_program(models::build_speech(
      folder, {.context = 16, .compute = BuildOptions::Compute::Float32Direct}));
  SpeechRecognizer recognizer = short_program.recognizer();
  EXPECT_ERROR(recognizer.recognize(golden.values), ErrorCode::LimitExceeded, "takes 128 at most");
  EXPECT_FALSE(recognizer.recognize(std::span(golden.values).first(128 * 80)).empty());
}

TEST(Speech, RefusesWrongConfigurations) {
  const std::vector<BrokenConfig> broken = {
      {"wav2vec2_base", "feat_extract_norm", "\"batch\"", "feat_extract_norm: 'batch'"},
      {"wav2vec2_base", "conv_kernel", "[10, 3]", "conv_kernel: 2 numbers, conv_dim has 7"},
      {"wav2vec2_base", "conv_stride", "[5, 2, 2, 2, 2, 2, 0]", "conv_stride: 0 is not between"},
      {"wav2vec2_base", "num_attention_heads", "5", "hidden_size: 32 is not a multiple of"},
      {"wav2vec2_base", "num_conv_pos_embedding_groups", "3", "num_conv_pos_embedding_groups 3"},
      {"wav2vec2_base", "pad_token_id", "32", "pad_token_id: 32 is not one of 32 tokens"},
      {"wav2vec2_base", "add_adapter", "true", "add_adapter: true is not supported"},
      {"wav2vec2_base", "architectures", "[\"Wav2Vec2ForXVector\"]", "'Wav2Vec2ForXVector'"},
      {"wav2vec2_base", "vocab_size", "33", "'lm_head.weight' has shape [32, 32]"},
      {"wavlm", "adapter_attn_dim", "16", "adapter_attn_dim: 16 is not supported"},
      {"wav2vec2_bert", "add_adapter", "true", "'wav2vec2_bert.adapter.layers.0.residual_layer"},
      {"wavlm", "num_buckets", "30", "num_buckets: 30 is not a multiple of 4"},
      {"wavlm", "max_bucket_distance", "8", "max_bucket_distance: 8 is not above"},
      {"wav2vec2_bert", "position_embeddings_type", "\"rotary\"", "type: 'rotary'"},
      {"parakeet_ctc", "encoder_config", "{\"subsampling_factor\": 6}",
       "subsampling_factor: 6 is not a power of 2"},
      {"parakeet_ctc", "encoder_config", "{\"conv_kernel_size\": 8}",
       "conv_kernel_size: 8 is even"},
      {"parakeet_ctc", "encoder_config", "{\"num_mel_bins\": 81}", "num_mel_bins: 81 is not a"},
      {"parakeet_tdt", "durations", "[0, -1]", "durations: -1 is not between"},
      {"parakeet_tdt", "durations", "[0, 1, 2]", "'joint.head.weight' has shape [70, 24]"},
      {"parakeet_tdt", "blank_token_id", "65", "blank_token_id: 65 is not one of 65 tokens"},
      {"parakeet_rnnt", "max_symbols_per_step", "0", "max_symbols_per_step: 0 is not"},
      {"lasr_ctc", "encoder_config", "{\"conv_residual_weights\": [1]}",
       "conv_residual_weights: 1 numbers"}};
  const int refused = expect_refused("models2026/speech/", broken,
                                     [](const auto& folder) { models::build_speech(folder); });
  if (refused == 0) GTEST_SKIP() << shared_data_absent("models2026/speech");
}

TEST(Speech, RefusesPackagesThatLie) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/parakeet_tdt");
  const auto pool = std::make_shared<ThreadPool>(1);
  const auto open = [&](const char* key, const std::optional<std::string>& value) {
    mil::Model model = models::build_speech(folder);
    auto& values = model.metadata.user_defined;
    values.erase(key);
    if (value) values[key] = *value;
    SpeechRecognizer(std::make_shared<const mil::Model>(std::move(model)), pool);
  };
  EXPECT_ERROR(open(speech::kBlankKey, "65"), ErrorCode::InvalidFile,
               "pippin.blank 65 is not one of 65 tokens");
  EXPECT_ERROR(open(speech::kBlankKey, std::nullopt), ErrorCode::InvalidFile, "pippin.blank is");
  EXPECT_ERROR(open(speech::kRateKey, "0"), ErrorCode::InvalidFile, "sampling_rate '0'");
  EXPECT_ERROR(open(speech::kDurationsKey, "0,1,x"), ErrorCode::InvalidFile, "'x' is not a number");
  EXPECT_ERROR(open(speech::kDurationsKey, "0,-1"), ErrorCode::InvalidFile, "'-1' is not a number");
  EXPECT_ERROR(open(speech::kMaxSymbolsKey, "0"), ErrorCode::InvalidFile, "max_symbols '0'");
  std::string many = "1";
  for (int i = 0; i < 69; ++i) many += ",1";
  EXPECT_ERROR(open(speech::kDurationsKey, many), ErrorCode::InvalidFile,
               "pippin.blank 64 is not one of 0 tokens");
}

}  // namespace
}  // namespace pippin
