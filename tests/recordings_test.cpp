// Compares Whisper and Moonshine with Hugging Face's own outputs: the encoder's states, the logits
// of a given target, and the greedy continuation of a prompt, from the folder in fp32 and from the
// converted package in fp16.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "tests/broken_config.h"

namespace pippin {
namespace {

using models::BuildOptions;
using runtime::EncoderDecoderModel;
using runtime::Source;

struct Golden {
  std::vector<float> features;
  std::vector<int64_t> shape;  // bins, frames; or samples
  std::vector<double> states, logits, generated_logits;
  std::vector<int32_t> target, prompt, generated;
  bool hears_samples = false;

  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const auto ids = [&](const char* name) {
      const NpyArray array = npz.read(name);
      return std::vector<int32_t>(array.as<int32_t>().begin(), array.as<int32_t>().end());
    };
    hears_samples = npz.contains("feat_input_values");
    const NpyArray given = npz.read(hears_samples ? "feat_input_values" : "feat_input_features");
    for (const double value : given.to_doubles()) features.push_back(static_cast<float>(value));
    shape.assign(given.shape.begin() + 1, given.shape.end());
    states = npz.read("encoder_last_hidden_state").to_doubles();
    logits = npz.read("logits").to_doubles();
    generated_logits = npz.read("gen_logits").to_doubles();
    target = ids("decoder_input_ids");
    prompt = ids("gen_prompt");
    generated = ids("gen_ids");
  }

  Source source() const { return {features, shape}; }
};

double worst(std::span<const float> found, std::span<const double> golden) {
  double most = found.size() == golden.size() ? 0 : INFINITY;
  for (size_t i = 0; i < found.size() && i < golden.size(); ++i) {
    most = std::max(most, std::abs(double{found[i]} - golden[i]));
  }
  return most;
}

// The target at once, and the continuation token by token, in a fork of the sequence too.
void expect_golden(runtime::Model& model, const Golden& golden, double tolerance) {
  const auto sequence = model.new_sequence();
  sequence->set_source(golden.source());
  EXPECT_LE(worst(sequence->all_logits(golden.target), golden.logits), tolerance);
  sequence->truncate(0);
  std::span<const float> logits = sequence->prefill(golden.prompt);
  auto last = sequence->fork();
  const auto width = static_cast<size_t>(model.vocab_size());
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    const auto wanted = std::span(golden.generated_logits).subspan(i * width, width);
    ASSERT_LE(worst(logits, wanted), tolerance) << "token " << i;
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ASSERT_EQ(best, golden.generated[i]) << "token " << i;
    if (i % 5 == 4) last = last->fork();
    logits = last->decode(golden.generated[i]);
  }
  EXPECT_EQ(sequence->position(), std::ssize(golden.prompt));
}

std::shared_ptr<EncoderDecoderModel> open(const mil::Model& program, ThreadPool& pool) {
  return std::make_shared<EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
}

std::vector<double> encode(const mil::Model& program, EncoderDecoderModel& model,
                           const Golden& golden, ThreadPool& pool) {
  const auto runner = engine::Runner::make(program, families::encoder_decoder::kEncode, pool);
  engine::State state = model.new_state();
  std::vector<int64_t> shape = golden.shape;
  shape.insert(shape.begin(), 1);
  engine::HostTensor features{mil::DataType::Float32, shape, {}, {}, {}, {}};
  const auto bytes = std::as_bytes(std::span(golden.features));
  features.bytes.assign(bytes.begin(), bytes.end());
  engine::NamedHostTensors inputs;
  inputs.emplace(golden.hears_samples ? families::encoder_decoder::kSourceSamples
                                      : families::encoder_decoder::kSourceFeatures,
                 features);
  const auto outputs = runner->run(inputs, state);
  return engine::to_tensor(outputs.find(families::encoder_decoder::kStates)->second).values;
}

class Recordings : public testing::TestWithParam<const char*> {
 protected:
  static std::string folder_name() { return fmt::format("models2026/speech/{}", GetParam()); }
};

// A spectrogram of one length, and samples of any.
class RecordingForms : public Recordings {};

TEST_P(Recordings, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(program.program);
  ThreadPool pool(1);
  const auto model = open(program, pool);
  expect_golden(*model, golden, 2e-5);
  const std::vector<double> states = encode(program, *model, golden, pool);
  ASSERT_EQ(states.size(), golden.states.size());
  for (size_t i = 0; i < states.size(); ++i) ASSERT_NEAR(states[i], golden.states[i], 2e-5);
}

TEST_P(Recordings, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const TempDir out;
  mil::write_package(models::build_encoder_decoder(folder), out / "model.mlpackage");
  const mil::Model program = mil::read_package(out / "model.mlpackage");
  ThreadPool pool(1);
  expect_golden(*open(program, pool), golden, 1e-2);
}

TEST_P(RecordingForms, TellTheirSources) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const mil::Model program = models::build_encoder_decoder(folder);
  ThreadPool pool(1);
  const auto model = open(program, pool);
  ASSERT_TRUE(model->source());
  const runtime::SourceForm& form = *model->source();
  if (golden.hears_samples) {
    EXPECT_EQ(form.bins, 0);
    EXPECT_EQ(form.least_frames, 895);  // ((1 - 1) * 2 + 3 - 1) * 3 + 7 are 13, 12 * 64 + 127
    EXPECT_EQ(form.frames, 64 * 16000);
    EXPECT_EQ(form.positions, 2665);
    EXPECT_EQ(form.alignment_heads, 0);
    EXPECT_EQ(model->context(), 256);
  } else {
    EXPECT_EQ(form.bins, golden.shape[0]);
    EXPECT_EQ(form.least_frames, golden.shape[1]);
    EXPECT_EQ(form.frames, golden.shape[1]);
    EXPECT_EQ(form.positions, golden.shape[1] / 2);
    EXPECT_EQ(model->context(), 64);
  }
}

// Descriptions of packages that lack a part of the family.
TEST_P(RecordingForms, NeedAllPartsOfTheFamily) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  ThreadPool pool(1);
  const auto function = [](mil::Model& model, const char* name) -> mil::FunctionDescription& {
    return *std::find_if(model.functions.begin(), model.functions.end(),
                         [&](const auto& one) { return one.name == name; });
  };
  mil::Model program = models::build_encoder_decoder(folder);
  auto& logits = function(program, "main").outputs.front().name;
  logits = "scores";
  EXPECT_FALSE(runtime::is_encoder_decoder(program));
  EXPECT_ERROR(open(program, pool), ErrorCode::Unsupported, "not an encoder-decoder program");
  logits = "logits";
  EXPECT_TRUE(runtime::is_encoder_decoder(program));
  auto& keys = function(program, "encode").states.front().name;
  keys = "keys";
  EXPECT_ERROR(open(program, pool), ErrorCode::Unsupported, "must have a state crossKeys");
  keys = "crossKeys";
  mil::Feature& source = function(program, "encode").inputs.front();
  // A spectrogram of any length, samples of one length.
  const auto fixed = source.ranges.empty();
  source.ranges.clear();
  if (fixed) source.ranges = {{1, 1}, {80, 80}, {1, source.shape[2]}};
  EXPECT_FALSE(runtime::is_encoder_decoder(program));
}

TEST_P(RecordingForms, RefuseWhatTheyCannot) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const mil::Model program = models::build_encoder_decoder(
      folder, {.context = 8, .compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model = open(program, pool);
  const auto sequence = model->new_sequence();
  const std::vector<int32_t> eight(8, 3), nine(9, 3), unknown = {200};
  EXPECT_ERROR(sequence->prefill(eight), ErrorCode::InvalidArgument, "has no source");
  const char* const wanted = golden.hears_samples ? "895 to 1024000 samples" : "80 bins of";
  Source source = golden.source();
  source.shape.back() -= 1;
  EXPECT_ERROR(sequence->set_source(source), ErrorCode::InvalidArgument, wanted);
  source = golden.source();
  source.shape.push_back(1);
  EXPECT_ERROR(sequence->set_source(source), ErrorCode::InvalidArgument, wanted);
  source = golden.source();
  source.values = source.values.first(5);
  EXPECT_ERROR(sequence->set_source(source), ErrorCode::InvalidArgument, "with 5 elements");
  source.shape = {5};
  EXPECT_ERROR(sequence->set_source(source), ErrorCode::InvalidArgument, "[5] with 5 elements");
  sequence->set_source(golden.source());
  EXPECT_ERROR(sequence->prefill(nine), ErrorCode::LimitExceeded, "context holds 8");
  if (golden.hears_samples) {
    EXPECT_ERROR(sequence->cross_attention(eight), ErrorCode::Unsupported, "no heads that align");
  } else {
    EXPECT_ERROR(sequence->cross_attention(nine), ErrorCode::LimitExceeded, "context holds 8");
    EXPECT_ERROR(sequence->cross_attention(unknown), ErrorCode::InvalidArgument, "vocabulary");
    EXPECT_ERROR(model->new_sequence()->cross_attention(eight), ErrorCode::InvalidArgument,
                 "has no source");
  }
  sequence->prefill(eight);
  EXPECT_ERROR(sequence->set_source(golden.source()), ErrorCode::InvalidArgument, "8 tokens");
  EXPECT_ERROR(sequence->decode(3), ErrorCode::LimitExceeded, "context holds 8");
  sequence->reset();
  EXPECT_ERROR(sequence->decode(3), ErrorCode::InvalidArgument, "has no source");
  // Benchmarks need no recording.
  EXPECT_EQ(runtime::sequence_for_tokens(*model)->decode(3).size(),
            static_cast<size_t>(model->vocab_size()));
}

// Beams: forks that decode different tokens in shared passes.
TEST_P(Recordings, ForksDecodeTogether) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model = open(program, pool);
  EXPECT_TRUE(model->capabilities().shares_passes);
  const auto first = model->new_sequence();
  first->set_source(golden.source());
  first->prefill(golden.prompt);
  std::vector<std::unique_ptr<runtime::Sequence>> beams, alone;
  for (int i = 0; i < 3; ++i) {
    beams.push_back(first->fork());
    alone.push_back(first->fork());
  }
  beams[1]->decode(9);  // of different lengths
  alone[1]->decode(9);
  runtime::Batch batch(model);
  for (int32_t step = 0; step < 4; ++step) {
    batch.clear();
    for (int32_t i = 0; i < 3; ++i) batch.add(*beams[static_cast<size_t>(i)], 10 * i + step);
    batch.run();
    for (int32_t i = 0; i < 3; ++i) {
      const auto wanted = alone[static_cast<size_t>(i)]->decode(10 * i + step);
      const std::vector<double> numbers(wanted.begin(), wanted.end());
      EXPECT_LE(worst(batch.logits(static_cast<size_t>(i)), numbers), 1e-5)
          << "step " << step << ", beam " << i;
    }
  }
}

// A fork's source stays when the sequence that it shares it with gets another one.
TEST_P(Recordings, ForksKeepTheirSource) {
  PIPPIN_SHARED_OR_SKIP(folder, folder_name());
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model = open(program, pool);
  const auto sequence = model->new_sequence();
  sequence->set_source(golden.source());
  const auto fork = sequence->fork();
  const std::vector<float> silence(golden.features.size(), -0.5f);
  sequence->set_source({silence, golden.shape});
  const std::vector<float> other = sequence->all_logits(golden.target);
  EXPECT_GT(worst(other, golden.logits), 1e-2);
  EXPECT_LE(worst(fork->all_logits(golden.target), golden.logits), 2e-5);
  const auto again = model->new_sequence();
  again->set_source({silence, golden.shape});
  EXPECT_EQ(again->all_logits(golden.target), other);
}

// Of whisper_short, whose decoder has two layers of three heads, a double-precision decoder's
// weights for three tokens (recordings/make_attention.py).
class Attention {
 public:
  static constexpr size_t kPositions = 200;
  Attention()
      : values_(NpzFile::open(source_dir() / "tests/recordings/attention.npz")
                    .read("weights")
                    .to_doubles()) {}

  // Of one head; `row` is one of the three tokens.
  std::span<const double> row(size_t layer, size_t head, size_t row) const {
    return std::span(values_).subspan(((layer * 3 + head) * 3 + row) * kPositions, kPositions);
  }

 private:
  std::vector<double> values_;
};

constexpr size_t kGoldenTokens[] = {0, 6, 13};

// `heads`: layer and head of each row.
void expect_attention(const runtime::CrossAttention& found,
                      const std::vector<std::pair<size_t, size_t>>& heads, double tolerance) {
  const Attention golden;
  ASSERT_EQ(found.heads, std::ssize(heads));
  ASSERT_EQ(found.tokens, 14);
  ASSERT_EQ(found.positions, 200);
  ASSERT_EQ(found.weights.size(), heads.size() * 14 * 200);
  for (size_t i = 0; i < heads.size(); ++i) {
    for (size_t row = 0; row < 3; ++row) {
      const auto weights =
          std::span(found.weights).subspan((i * 14 + kGoldenTokens[row]) * 200, 200);
      EXPECT_LE(worst(weights, golden.row(heads[i].first, heads[i].second, row)), tolerance)
          << "head " << i << ", row " << row;
    }
  }
}

TEST(WhisperAlignment, UsesTheLaterHalfOfTheLayers) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model = open(program, pool);
  ASSERT_EQ(model->source()->alignment_heads, 3);
  const auto sequence = model->new_sequence();
  sequence->set_source(golden.source());
  const std::vector<float> logits = sequence->all_logits(golden.target);
  expect_attention(sequence->cross_attention(golden.target), {{1, 0}, {1, 1}, {1, 2}}, 1e-6);
  // The cache is as before.
  sequence->truncate(5);
  const auto rest = sequence->all_logits(std::span(golden.target).subspan(5));
  const auto width = static_cast<size_t>(model->vocab_size());
  for (size_t i = 0; i < rest.size(); ++i) ASSERT_NEAR(rest[i], logits[5 * width + i], 1e-5);
}

// A copy of the folder with this list in generation_config.json.
void write_with_heads(const std::filesystem::path& from, const std::filesystem::path& to,
                      const std::string& heads) {
  std::filesystem::copy(from, to);
  const std::filesystem::path path = to / "generation_config.json";
  std::filesystem::remove(path);
  write_file(path, fmt::format(R"({{"alignment_heads": {}}})", heads));
}

TEST(WhisperAlignment, UsesTheHeadsOfTheFolder) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  const Golden golden(folder);
  const TempDir out;
  write_with_heads(folder, out / "source", "[[1, 2], [0, 1], [1, 2]]");
  mil::write_package(models::build_encoder_decoder(out / "source"), out / "model.mlpackage");
  const mil::Model program = mil::read_package(out / "model.mlpackage");
  ThreadPool pool(1);
  const auto model = open(program, pool);
  const auto sequence = model->new_sequence();
  sequence->set_source(golden.source());
  expect_attention(sequence->cross_attention(golden.target), {{0, 1}, {1, 2}}, 1e-3);
}

TEST(WhisperAlignment, ListsOfOtherModels) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/whisper_short");
  const TempDir out;
  write_with_heads(folder, out / "deeper", "[[1, 2], [7, 0]]");
  std::string warnings;
  {
    const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view line) { warnings += line; });
    ThreadPool pool(1);
    const mil::Model program = models::build_encoder_decoder(out / "deeper");
    EXPECT_EQ(open(program, pool)->source()->alignment_heads, 3);
  }
  EXPECT_EQ(warnings,
            "generation_config.json: alignment_heads: the decoder of 2 layers of 3 heads has no "
            "head 0 in layer 7; all heads of the later half of its layers are used");
  write_with_heads(folder, out / "triple", "[[1, 2, 3]]");
  EXPECT_ERROR(models::build_encoder_decoder(out / "triple"), ErrorCode::InvalidFile,
               "3 numbers in place of a layer and a head");
}

TEST(RecordingConfigurations, AreRefused) {
  const std::vector<BrokenConfig> broken = {
      {"whisper_short", "scale_embedding", "true", "scale_embedding"},
      {"whisper_short", "decoder_attention_heads", "5",
       "24 is not a multiple of attention heads 5"},
      {"whisper_short", "num_mel_bins", "128", "'model.encoder.conv1.weight'"},
      {"whisper_short", "num_mel_bins", "0", "num_mel_bins: 0 is not between 1 and"},
      {"whisper_short", "max_source_positions", "1500", "'model.encoder.embed_positions.weight'"},
      {"whisper_short", "max_source_positions", "16777217", "max_source_positions: 16777217"},
      {"whisper_short", "max_target_positions", "448", "'model.decoder.embed_positions.weight'"},
      {"whisper_short", "encoder_layers", "3", "'model.encoder.layers.2."},
      {"whisper_short", "decoder_layers", "1", "model.decoder.layers.1."},
      {"whisper_short", "decoder_start_token_id", "200", "decoder_start_token_id: 200"},
      {"whisper_short", "activation_function", "\"mish\"", "'mish' is not supported"},
      {"whisper_short", "tie_word_embeddings", "false", "proj_out.weight"},
      {"moonshine", "encoder_num_key_value_heads", "3", "not a multiple of"},
      {"moonshine", "attention_bias", "true", "q_proj.bias"},
      {"moonshine", "rope_parameters",
       "{\"rope_type\": \"default\", \"rope_theta\": 10000, \"partial_rotary_factor\": 0.01}",
       "partial_rotary_factor: 0.01 of 8"},
      {"moonshine", "intermediate_size", "57", "fc1"},
      {"moonshine", "decoder_num_hidden_layers", "3", "model.decoder.layers.2."},
      {"moonshine", "encoder_hidden_act", "\"mish\"", "'mish' is not supported"},
      {"moonshine_streaming", "encoder_config", "{\"sliding_windows\": [[16, 4], [16]]}",
       "a pair for each layer"},
      {"moonshine_streaming", "encoder_config",
       "{\"num_hidden_layers\": 2, \"hidden_size\": 8, \"sliding_windows\": [[16, 4]]}",
       "1 pairs for 2 layers"},
      {"moonshine_streaming", "encoder_config", "{\"frame_ms\": 0.01}", "a frame of 0.16 samples"},
      {"whisper_short", "quantization_config", "{\"quant_method\": \"x\"}", "quantization_config"}};
  const int refused = expect_refused("models2026/speech/", broken, [](const auto& folder) {
    models::build_encoder_decoder(folder);
  });
  if (refused == 0) GTEST_SKIP() << shared_data_absent("models2026/speech/whisper_short");
}

constexpr auto kName = [](const auto& test) { return std::string(test.param); };
INSTANTIATE_TEST_SUITE_P(Models, Recordings,
                         testing::Values("whisper_80", "whisper_short", "moonshine",
                                         "moonshine_streaming"),
                         kName);
INSTANTIATE_TEST_SUITE_P(Models, RecordingForms, testing::Values("whisper_short", "moonshine"),
                         kName);

}  // namespace
}  // namespace pippin
