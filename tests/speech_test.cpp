// Compares models that recognize speech with Hugging Face's own outputs: the encoder's states, the
// logits and the tokens that decoding finds, from the folder in fp32 and from the package in fp16.
#include "pippin/families/speech.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/runtime/speech/ctc_decoding.h"
#include "pippin/runtime/speech/speech_recognizer.h"
#include "tests/broken_config.h"

namespace pippin {
namespace {

namespace speech = families::speech;
using models::BuildOptions;
using runtime::SpeechRecognizer;
using runtime::SpeechToken;

struct Golden {
  NpzFile npz;
  std::string input;
  std::vector<int64_t> dims;  // of the input
  std::vector<float> values;

  // Without the rows that the extractor marks as padding.
  explicit Golden(const std::filesystem::path& folder) : npz(NpzFile::open(folder / "golden.npz")) {
    input = npz.contains("feat_input_values") ? speech::kWaveform : speech::kFeatures;
    const NpyArray all = npz.read("feat_" + input);
    for (const uint64_t size : all.shape) dims.push_back(static_cast<int64_t>(size));
    if (npz.contains("feat_attention_mask")) {
      const std::vector<int64_t> mask = ints("feat_attention_mask");
      dims[1] = std::count(mask.begin(), mask.end(), 1);
    }
    const int64_t row = dims.size() == 3 ? dims[2] : 1;
    const auto begin = all.as<float>().begin();
    values.assign(begin, begin + dims[1] * row);
  }
  std::vector<double> doubles(const std::string& name) const { return npz.read(name).to_doubles(); }
  std::vector<int64_t> ints(const std::string& name) const {
    std::vector<int64_t> result;
    for (const double value : doubles(name)) result.push_back(static_cast<int64_t>(value));
    return result;
  }
};

engine::HostTensor tensor(mil::DataType type, std::vector<int64_t> dims, const void* data,
                          size_t bytes) {
  engine::HostTensor result{type, std::move(dims), {}, {}, {}, {}};
  result.bytes.resize(bytes);
  std::memcpy(result.bytes.data(), data, bytes);
  return result;
}

engine::HostTensor floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor(mil::DataType::Float32, std::move(dims), values.data(),
                values.size() * sizeof(float));
}

std::vector<float> to_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

// A program, whose functions run one by one.
class Program {
 public:
  explicit Program(mil::Model model)
      : model_(std::make_shared<const mil::Model>(std::move(model))),
        pool_(std::make_shared<ThreadPool>(1)) {
    mil::verify(model_->program);
  }

  using Values = std::map<std::string, std::vector<double>>;
  Values run(const char* function, const engine::NamedHostTensors& inputs) {
    auto& runner = runners_[function];
    if (runner == nullptr) {
      runner = engine::Runner::make(*model_, function, *pool_, {.compute = compute_});
    }
    engine::State state(std::vector<mil::Feature>{});
    Values values;
    for (const auto& [name, output] : runner->run(inputs, state)) {
      values[name] = engine::to_tensor(output).values;
    }
    return values;
  }
  Values run(const char* function, const Golden& golden) {
    engine::NamedHostTensors inputs;
    inputs.emplace(golden.input, floats(golden.dims, golden.values));
    return run(function, inputs);
  }
  SpeechRecognizer recognizer() const { return SpeechRecognizer(model_, pool_, compute_); }

 private:
  std::shared_ptr<const mil::Model> model_;
  std::shared_ptr<ThreadPool> pool_;
  engine::ComputeOptions compute_{.precision = engine::Precision::Exact};
  std::map<std::string, std::unique_ptr<engine::Runner>> runners_;
};

Program from_folder(const std::filesystem::path& folder) {
  return Program(models::build_speech(folder, {.compute = BuildOptions::Compute::Float32Direct}));
}

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

// Tokens with ids and frames alone.
std::vector<SpeechToken> without_probabilities(std::vector<SpeechToken> tokens) {
  for (SpeechToken& token : tokens) {
    EXPECT_GT(token.probability, 0);
    EXPECT_LE(token.probability, 1);
    token.probability = 0;
  }
  return tokens;
}

// The tokens that decoding finds for the golden's best ids.
std::vector<SpeechToken> decoded(const std::vector<int64_t>& best, int64_t vocab_size,
                                 int32_t blank) {
  std::vector<float> logits(best.size() * static_cast<size_t>(vocab_size));
  for (size_t i = 0; i < best.size(); ++i) {
    logits[i * static_cast<size_t>(vocab_size) + static_cast<size_t>(best[i])] = 9;
  }
  return without_probabilities(runtime::decode_ctc(logits, vocab_size, blank));
}

// The root of the mean square, at least 1.
double scale_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::max(1.0, std::sqrt(sum / static_cast<double>(values.size())));
}

void expect_ctc(Program program, const Golden& golden, double tolerance) {
  const auto outputs = program.run("main", golden);
  for (const auto& [name, expected] :
       {std::pair{speech::kStates, golden.doubles("encoder_last_hidden_state")},
        std::pair{speech::kLogits, golden.doubles("logits")}}) {
    // Rounded weights have errors in proportion.
    const double scale = tolerance > 1e-4 ? scale_of(expected) : 1.0;
    EXPECT_LE(difference(outputs.at(name), expected), tolerance * scale) << name;
  }
  SpeechRecognizer recognizer = program.recognizer();
  const std::vector<int64_t> best = golden.ints("argmax");
  const std::vector<float> logits = to_floats(outputs.at(speech::kLogits));
  const auto width = static_cast<size_t>(recognizer.vocab_size());
  for (size_t i = 0; i < best.size(); ++i) {
    const auto row = std::span(logits).subspan(i * width, width);
    ASSERT_EQ(runtime::best_score(row).index, best[i]) << "frame " << i;
  }
  EXPECT_EQ(without_probabilities(recognizer.recognize(golden.values)),
            decoded(best, recognizer.vocab_size(), recognizer.blank()));
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

// A copy of the folder's model with other tensors: what `change` makes of each.
using Tensor = std::pair<SafetensorsWriter::Declaration, std::vector<float>>;
void write_changed(const std::filesystem::path& folder, const std::filesystem::path& to,
                   const std::function<std::vector<Tensor>(const TensorInfo&)>& change) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  std::vector<Tensor> tensors;
  for (const std::string& name : checkpoint.names()) {
    for (Tensor& tensor : change(checkpoint.at(name))) tensors.push_back(std::move(tensor));
  }
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const Tensor& tensor : tensors) declarations.push_back(tensor.first);
  SafetensorsWriter writer(to / "model.safetensors", declarations);
  for (const Tensor& tensor : tensors) writer.append(std::as_bytes(std::span(tensor.second)));
  writer.finish();
}

// Of an F32 or BF16 tensor.
std::vector<float> values_of(const TensorInfo& tensor) {
  const bool is_narrow = tensor.dtype == Dtype::BF16;
  const size_t size = is_narrow ? 2 : 4;
  std::vector<float> values(tensor.bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * size, size);
    values[i] = std::bit_cast<float>(is_narrow ? bits << 16 : bits);
  }
  return values;
}

TEST(Speech, ReadsTheOlderNamesOfNormalizedWeights) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_base");
  const TempDir older;
  std::filesystem::copy_file(folder / "config.json", older / "config.json");
  write_changed(folder, older.path(), [](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::string name = tensor.name;
    for (const auto& [now, then] : {std::pair{"parametrizations.weight.original0", "weight_g"},
                                    std::pair{"parametrizations.weight.original1", "weight_v"}}) {
      const size_t place = name.find(now);
      if (place != name.npos) name.replace(place, std::string(now).size(), then);
    }
    return {{{name, tensor.dtype, tensor.shape}, values_of(tensor)}};
  });
  expect_ctc(from_folder(older.path()), Golden(folder), 1e-4);
}

// With a batch norm that only doubles, and half of the convolution's weights.
TEST(Speech, NormalizesChannelsBeforePositions) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_base");
  const TempDir changed;
  std::string config = read_file(folder / "config.json");
  const std::string type = "\"model_type\": \"wav2vec2\"";
  config.replace(config.find(type), type.size(),
                 "\"model_type\": \"hubert\", \"conv_pos_batch_norm\": true");
  const std::string name = "\"Wav2Vec2ForCTC\"";
  config.replace(config.find(name), name.size(), "\"HubertForCTC\"");
  write_file(changed / "config.json", config);
  std::vector<float> lengths;
  write_changed(folder, changed.path(), [&](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::string renamed = tensor.name;
    if (renamed.starts_with("wav2vec2.")) renamed.replace(0, 8, "hubert");
    std::vector<float> values = values_of(tensor);
    const std::string path = "hubert.encoder.pos_conv_embed.";
    if (renamed.ends_with("original0")) {
      lengths = values;
      std::vector<Tensor> norm;
      // 4 * (x - 0.5) / 2 + 1 is 2 * x.
      for (const auto& [part, value] :
           {std::pair{"weight", 4.0f}, std::pair{"bias", 1.0f}, std::pair{"running_mean", 0.5f},
            std::pair{"running_var", 4.0f - 1e-5f}}) {
        norm.push_back(
            {{path + "batch_norm." + part, Dtype::F32, {32}}, std::vector<float>(32, value)});
      }
      return norm;
    }
    if (renamed.ends_with("original1")) {
      std::vector<double> squares(32);
      for (size_t i = 0; i < values.size(); ++i) {
        squares[i % 32] += double{values[i]} * double{values[i]};
      }
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] *= static_cast<float>(lengths[i % 32] / std::sqrt(squares[i % 32]) / 2);
      }
      renamed = path + "conv.weight";
    }
    return {{{renamed, tensor.dtype, tensor.shape}, values}};
  });
  expect_ctc(from_folder(changed.path()), Golden(folder), 1e-4);
}

// Adapters whose first matrix is zero give the same vector for each frame, which the layer before
// lacks.
TEST(Speech, AddsAdaptersOfALanguage) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/hubert");
  const TempDir changed;
  const std::string config = read_file(folder / "config.json");
  write_file(changed / "config.json", "{\"adapter_attn_dim\": 3, " + config.substr(1));
  constexpr size_t kWidth = 32;
  write_changed(folder, changed.path(), [&](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::vector<float> values = values_of(tensor);
    std::vector<Tensor> tensors;
    const std::string end = ".feed_forward.output_dense.bias";
    if (tensor.name.ends_with(end)) {
      const std::string layer = tensor.name.substr(0, tensor.name.size() - end.size());
      const std::vector<float> hidden = {0.5f, -2.0f, 1.0f};  // before the activation
      std::vector<float> matrix(kWidth * 3), bias(kWidth);
      for (size_t i = 0; i < kWidth; ++i) {
        bias[i] = 0.25f;
        matrix[3 * i] = static_cast<float>(i % 5);
        matrix[3 * i + 1] = 7;
        matrix[3 * i + 2] = static_cast<float>(i % 3);
        values[i] -= matrix[3 * i] * 0.5f + matrix[3 * i + 2] + bias[i];
      }
      const std::string path = layer + ".adapter_layer.";
      const int64_t width = kWidth;
      tensors = {
          {{path + "norm.weight", Dtype::F32, {width}}, std::vector<float>(kWidth, 1)},
          {{path + "norm.bias", Dtype::F32, {width}}, std::vector<float>(kWidth)},
          {{path + "linear_1.weight", Dtype::F32, {3, width}}, std::vector<float>(3 * kWidth)},
          {{path + "linear_1.bias", Dtype::F32, {3}}, hidden},
          {{path + "linear_2.weight", Dtype::F32, {width, 3}}, matrix},
          {{path + "linear_2.bias", Dtype::F32, {width}}, bias}};
    }
    tensors.push_back({{tensor.name, Dtype::F32, tensor.shape}, values});
    return tensors;
  });
  expect_ctc(from_folder(changed.path()), Golden(folder), 1e-4);
}

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
      {"wav2vec2_bert", "use_intermediate_ffn_before_adapter", "true", "true is not supported"},
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
}

}  // namespace
}  // namespace pippin
