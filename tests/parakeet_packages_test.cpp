// Packages in FluidAudio's form, made of checkpoints, compared with the checkpoints.
#include "pippin/speech/recognition/parakeet_packages.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/array/ops.h"
#include "pippin/base/testing.h"
#include "pippin/families/fluidaudio.h"
#include "pippin/families/package.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/model_source.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/speech/speech_description.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/nn/speech/speech_encoder.h"
#include "pippin/nn/speech/transducer.h"
#include "tests/speech_testing.h"

namespace pippin::testing_speech {
namespace {

namespace fs = std::filesystem;
namespace fluidaudio = families::fluidaudio;
using array::Array;
constexpr auto kFloat = mil::DataType::Float32;
constexpr auto kInt = mil::DataType::Int32;

// A folder of four packages for windows of `rows` rows of features. Its "audio" is these features,
// row by row.
class FluidAudioFolder {
 public:
  FluidAudioFolder(const fs::path& source, int64_t rows)
      : config_(models::load_config(source)),
        model_(models::describe_speech(config_)),
        parameters_(models::open_parameters(source, {kFloat, false})),
        rows_(rows) {
    write_preprocessor();
    write_encoder();
    write_decoder();
    write_joint();
  }

  const fs::path& path() const { return folder_.path(); }
  int64_t bins() const { return model_.encoder.bins(); }
  int64_t tokens() const { return network().vocab_size - 1; }
  pippin::speech::ParakeetPackages open() {
    return {runtime::PackageFolder(path()), tokens(), pool_, engine::ComputeOptions{}};
  }

 private:
  const nn::TransducerOptions& network() const { return model_.transducer->network; }

  template <typename Record>
  void write(const char* stem, Record&& record) {
    constexpr auto kOpset = mil::Opset::CoreML8;
    models::FunctionRecorder function(families::kMain, kOpset);
    record(function);
    models::Description named;
    named.name = stem;
    mil::Model model = models::empty_model(named, "fluidaudio", kOpset);
    function.add_to(model);
    mil::write_package(model, folder_ / fmt::format("{}.mlpackage", stem));
  }

  static Array divided(const Array& number, int64_t by) {
    return array::floor_divide(number + static_cast<double>(by - 1),
                               array::constant(static_cast<int32_t>(by)));
  }

  void write_preprocessor() {
    write(fluidaudio::kPreprocessorPart, [&](models::FunctionRecorder& function) {
      const Array audio = function.input(fluidaudio::kAudio, kFloat, {1, rows_ * bins()});
      const Array length = function.input(fluidaudio::kAudioLength, kInt, {1});
      function.output(fluidaudio::kMel,
                      array::transpose(array::reshape(audio, {1, rows_, bins()}), {0, 2, 1}));
      function.output(fluidaudio::kMelLength, divided(length, bins()));
    });
  }

  void write_encoder() {
    write("Encoder_v2", [&](models::FunctionRecorder& function) {
      const Array mel = function.input(fluidaudio::kMel, kFloat, {1, bins(), rows_});
      const Array length = function.input(fluidaudio::kMelLength, kInt, {1});
      const nn::SpeechEncoder encoder(parameters_.at(model_.base), model_.encoder, rows_);
      function.output(fluidaudio::kEncoded,
                      array::transpose(encoder(array::transpose(mel, {0, 2, 1})), {0, 2, 1}));
      function.output(fluidaudio::kEncodedLength, divided(length, model_.encoder.stride()));
    });
  }

  void write_decoder() {
    write(fluidaudio::kDecoderPart, [&](models::FunctionRecorder& function) {
      const std::vector<int64_t> state = {network().layers, 1, network().features};
      const Array token = function.input(fluidaudio::kTargets, kInt, {1, 1});
      const Array count = function.input(fluidaudio::kTargetLength, kInt, {1});
      const Array hidden = function.input(fluidaudio::kHidden, kFloat, state);
      const Array cell = function.input(fluidaudio::kCell, kFloat, state);
      const auto predicted = nn::Transducer(parameters_, network()).predict(token, hidden, cell);
      // Wrong for any other count than 1.
      const Array result = predicted.result * array::cast(count, kFloat);
      function.output(fluidaudio::kPredicted, array::transpose(result, {0, 2, 1}));
      function.output(fluidaudio::kNewHidden, predicted.hidden);
      function.output(fluidaudio::kNewCell, predicted.cell);
    });
  }

  void write_joint() {
    write("JointDecisionv3", [&](models::FunctionRecorder& function) {
      const Array encoded =
          function.input(fluidaudio::kEncodedStep, kFloat, {1, network().encoder_features, 1});
      const Array predicted =
          function.input(fluidaudio::kPredictedStep, kFloat, {1, network().features, 1});
      const nn::Transducer transducer(parameters_, network());
      const Array scores = transducer.join(transducer.project(array::transpose(encoded, {0, 2, 1})),
                                           array::transpose(predicted, {0, 2, 1}));
      const int64_t vocab_size = network().vocab_size;
      const Array tokens = array::slice_axis(scores, 2, 0, vocab_size);
      const auto best = [](const Array& of) {
        return array::record_one("reduce_argmax", {{"x", of}, {"axis", -1}, {"keep_dims", true}});
      };
      function.output(fluidaudio::kToken, best(tokens));
      function.output(fluidaudio::kProbability,
                      array::reduce_max(array::softmax(tokens), {2}, /*keep_dims=*/true));
      const std::vector<int64_t>& durations = model_.transducer->durations;
      const Array index =
          best(array::slice_axis(scores, 2, vocab_size, vocab_size + std::ssize(durations)));
      function.output(fluidaudio::kDuration, array::gather(array::constant(durations), index));
    });
  }

  TempDir folder_;
  models::Config config_;
  models::SpeechDescription model_;
  nn::Parameters parameters_;
  int64_t rows_;
  ThreadPool pool_{1};
};

// Recognizes the features of a window by both.
void expect_equal(const fs::path& source, const std::vector<float>& values, size_t least) {
  Program program = from_folder(source);
  runtime::SpeechRecognizer checkpoint = program.recognizer();
  const std::vector<SpeechToken> expected = checkpoint.recognize(values);
  const int64_t bins = checkpoint.input().bins;
  FluidAudioFolder folder(source, std::ssize(values) / bins);
  pippin::speech::ParakeetPackages packages = folder.open();
  EXPECT_EQ(packages.most_samples(), values.size());
  const auto found = packages.recognize(values);
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_GE(found.size(), least);
  const auto stride = static_cast<double>(checkpoint.input().bins) *
                      std::round(checkpoint.seconds_per_frame() * 16000 /
                                 static_cast<double>(checkpoint.input().row_samples)) /
                      16000;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << i;
    EXPECT_NEAR(found[i].start, static_cast<double>(expected[i].begin) * stride, 1e-9) << i;
    EXPECT_NEAR(found[i].end, static_cast<double>(expected[i].end) * stride, 1e-9) << i;
    EXPECT_NEAR(found[i].probability, expected[i].probability, 1e-4) << i;
  }
  // A shorter window has fewer steps.
  const size_t half = values.size() / 2;
  const auto shorter = packages.recognize(std::span(values).first(half));
  for (const pippin::speech::RecognizedToken& token : shorter) {
    EXPECT_LE(token.end, static_cast<double>(half) / 16000 + stride);
  }
  EXPECT_EQ(packages.recognize(values).size(), expected.size());
  std::vector<float> longer = values;
  longer.push_back(0);
  EXPECT_ERROR(packages.recognize(longer), ErrorCode::LimitExceeded, "the model takes");
}

TEST(ParakeetPackages, TokensOfAGolden) {
  PIPPIN_SHARED_OR_SKIP(source, "models2026/speech/parakeet_tdt");
  expect_equal(source, Golden(source).values, 8);
}

TEST(ParakeetPackages, TokensOfARandomModel) {
  const TempDir source;
  models::write_random_model(source.path(),
                             R"({"model_type": "parakeet_tdt", "vocab_size": 7, "blank_token_id": 6,
          "decoder_hidden_size": 6, "num_decoder_layers": 2, "durations": [0, 1, 3],
          "max_symbols_per_step": 10, "encoder_config": {"hidden_size": 8,
          "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12,
          "num_mel_bins": 8, "subsampling_factor": 4, "subsampling_conv_channels": 3,
          "conv_kernel_size": 3}})",
                             [](const auto& path) { models::build_speech(path); });
  std::vector<float> values(size_t{8} * 160);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(3 * std::sin(static_cast<double>(i * i % 997)));
  }
  expect_equal(source.path(), values, 1);

  FluidAudioFolder folder(source.path(), 160);
  fs::rename(folder.path() / "JointDecisionv3.mlpackage", folder.path() / "Other.mlpackage");
  EXPECT_ERROR(folder.open(), ErrorCode::NotFound, "holds no JointDecision");
  fs::rename(folder.path() / "Other.mlpackage", folder.path() / "JointDecision.mlpackage");
  fs::copy(folder.path() / "Encoder_v2.mlpackage", folder.path() / "EncoderInt4.mlpackage",
           fs::copy_options::recursive);
  EXPECT_ERROR(folder.open(), ErrorCode::InvalidArgument, "EncoderInt4, Encoder_v2");
  fs::rename(folder.path() / "Encoder_v2.mlpackage", folder.path() / "Encoder.mlpackage");
  folder.open();
}

TEST(ParakeetPackages, Vocabulary) {
  const TempDir folder;
  const auto read = [&](const char* text) {
    std::ofstream(folder / fluidaudio::kVocabularyFile) << text;
    return pippin::speech::PieceVocabulary::read(folder / fluidaudio::kVocabularyFile);
  };
  EXPECT_FALSE(pippin::speech::PieceVocabulary::is_in(folder.path()));
  for (const char* text :
       {R"({"1": "▁a", "0": "<unk>", "2": "b▁c"})", R"(["<unk>", "▁a", "b▁c"])"}) {
    const pippin::speech::PieceVocabulary vocabulary = read(text);
    EXPECT_EQ(vocabulary.size(), 3);
    EXPECT_EQ(vocabulary.text(0), "");
    EXPECT_EQ(vocabulary.text(1), " a");
    EXPECT_EQ(vocabulary.text(2), "b c");
    EXPECT_EQ(vocabulary.text(3), "");
  }
  EXPECT_TRUE(pippin::speech::PieceVocabulary::is_in(folder.path()));
  EXPECT_ERROR(read(R"({"1": "a"})"), ErrorCode::InvalidFile, "\"1\" is not one of the ids 0 to 0");
  EXPECT_ERROR(read(R"({"0": "a", "00": "b"})"), ErrorCode::InvalidFile, "\"00\" is not one");
  EXPECT_ERROR(read("[]"), ErrorCode::InvalidFile, "has no tokens");
  EXPECT_ERROR(read("[1]"), ErrorCode::InvalidFile, "expected a string");
}

}  // namespace
}  // namespace pippin::testing_speech
