// Compares T5 and Flan-T5 with Hugging Face's own outputs: the encoder's states, and the greedy
// continuation with its logits, from the folder in fp32 and from the converted package in fp16.
#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/encoder_decoder_model.h"

namespace pippin {
namespace {

using models::BuildOptions;

struct Golden {
  std::vector<int32_t> source, generated;
  std::vector<double> states, logits;

  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const auto ids = [&](const char* name) {
      const NpyArray array = npz.read(name);
      return std::vector<int32_t>(array.as<int32_t>().begin(), array.as<int32_t>().end());
    };
    source = ids("input_ids");
    generated = ids("gen_ids");
    states = npz.read("encoder_last_hidden_state").to_doubles();
    logits = npz.read("gen_logits").to_doubles();
  }
};

// Token by token, and all target tokens in one pass.
void expect_golden(runtime::Model& model, const Golden& golden, double tolerance) {
  const size_t width = golden.logits.size() / golden.generated.size();
  const auto worst = [&](std::span<const float> row, size_t i) {
    double most = 0;
    for (size_t k = 0; k < width; ++k) {
      most = std::max(most, std::abs(double{row[k]} - golden.logits[i * width + k]));
    }
    return most;
  };
  const auto sequence = model.new_sequence();
  std::span<const float> logits = sequence->prefill(golden.source);
  ASSERT_EQ(logits.size(), width);
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    ASSERT_LE(worst(logits, i), tolerance) << "token " << i;
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ASSERT_EQ(best, golden.generated[i]) << "token " << i;
    logits = sequence->decode(golden.generated[i]);
  }
  const auto again = model.new_sequence();
  again->prefill(golden.source);
  const auto fork = again->fork();
  const std::vector<float> all = fork->all_logits(golden.generated);
  for (size_t i = 0; i + 1 < golden.generated.size(); ++i) {
    EXPECT_LE(worst(std::span(all).subspan(i * width, width), i + 1), tolerance) << "token " << i;
  }
}

class EncoderDecoders : public testing::TestWithParam<const char*> {};

TEST_P(EncoderDecoders, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string(GetParam()));
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(program.program);
  ThreadPool pool(1);
  const auto model =
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
  expect_golden(*model, golden, 2e-5);

  const auto runner = engine::Runner::make(program, families::encoder_decoder::kEncode, pool);
  engine::State state = model->new_state();
  engine::HostTensor ids{mil::DataType::Int32, {1, std::ssize(golden.source)}, {}, {}, {}, {}};
  const auto bytes = std::as_bytes(std::span(golden.source));
  ids.bytes.assign(bytes.begin(), bytes.end());
  engine::NamedHostTensors inputs;
  inputs.emplace(families::encoder_decoder::kSourceIds, ids);
  const auto outputs = runner->run(inputs, state);
  const auto states =
      engine::to_tensor(outputs.find(families::encoder_decoder::kStates)->second).values;
  ASSERT_EQ(states.size(), golden.states.size());
  for (size_t i = 0; i < states.size(); ++i) ASSERT_NEAR(states[i], golden.states[i], 2e-5);
}

TEST_P(EncoderDecoders, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string(GetParam()));
  const Golden golden(folder);
  const TempDir out;
  mil::write_package(models::build_encoder_decoder(folder), out / "model.mlpackage");
  const mil::Model program = mil::read_package(out / "model.mlpackage");
  ThreadPool pool(1);
  const auto model =
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
  // Measured: 4.3e-3, from the rounding of weights.
  expect_golden(*model, golden, 1e-2);
}

// Sequences with sources of different lengths share passes.
TEST_P(EncoderDecoders, DecodeTogether) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string(GetParam()));
  const Golden golden(folder);
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model =
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
  const std::vector<int32_t> shorter(golden.source.begin() + 2, golden.source.end());
  const auto one = model->new_sequence(), two = model->new_sequence();
  one->prefill(golden.source);
  two->prefill(shorter);
  const auto one_alone = one->fork(), two_alone = two->fork();
  runtime::Batch batch(model);
  for (const int32_t token : {5, 7, 6}) {
    batch.clear();
    batch.add(*one, token);
    batch.add(*two, token + 1);
    batch.run();
    const auto near = [&](std::span<const float> found, std::span<const float> wanted) {
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-4);
    };
    near(batch.logits(0), one_alone->decode(token));
    near(batch.logits(1), two_alone->decode(token + 1));
  }
}

TEST(EncoderDecoder, RefusesWhatItCannot) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures2/t5");
  const mil::Model program = models::build_encoder_decoder(
      folder, {.context = 8, .compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model =
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
  const auto sequence = model->new_sequence();
  const std::vector<int32_t> nine(9, 3), seven(7, 3);
  EXPECT_ERROR(sequence->prefill(nine), ErrorCode::LimitExceeded, "9 tokens of a source");
  EXPECT_ERROR(sequence->all_logits(seven), ErrorCode::Unsupported, "for generated tokens only");
  EXPECT_ERROR(sequence->set_source({}), ErrorCode::Unsupported, "reads tokens only");
  EXPECT_ERROR(sequence->cross_attention(seven), ErrorCode::Unsupported, "no heads that align");
  sequence->prefill(seven);
  sequence->prefill(seven);
  EXPECT_ERROR(sequence->decode(3), ErrorCode::LimitExceeded, "9 tokens written");
}

// The tensors of a checkpoint in fp32, by name.
using Tensors = std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>>;

Tensors tensors_of(const std::filesystem::path& folder) {
  Tensors tensors;
  const auto file = SafetensorsFile::open(folder / "model.safetensors");
  for (const TensorInfo& info : file->tensors()) {
    std::vector<float> values(static_cast<size_t>(info.num_elements()));
    EXPECT_EQ(info.dtype, Dtype::BF16);
    convert_bf16_to_f32(info.bytes.data(), std::as_writable_bytes(std::span(values)).data(),
                        values.size());
    tensors[info.name] = {info.shape, values};
  }
  return tensors;
}

void write_tensors(const std::filesystem::path& folder, const Tensors& tensors) {
  std::vector<SafetensorsWriter::Declaration> declared;
  for (const auto& [name, tensor] : tensors) declared.push_back({name, Dtype::F32, tensor.first});
  SafetensorsWriter writer(folder / "model.safetensors", declared);
  for (const auto& [name, tensor] : tensors) writer.append(std::as_bytes(std::span(tensor.second)));
  writer.finish();
}

void expect_golden_of(const std::filesystem::path& folder, const Golden& golden) {
  const mil::Model program =
      models::build_encoder_decoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto model =
      std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
  expect_golden(*model, golden, 2e-5);
}

// T5Gemma 2's vector of the end of an image, which stands for a token of the source and of the
// result here, and decoders with an embedding and a head apart.
TEST(T5Gemma2, VectorOfImagesEndsAndUntiedHeads) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/enc/t5gemma2");
  const Golden golden(folder);
  const std::string text = read_file(folder / "config.json");
  const TempDir changed;
  constexpr int32_t kToken = 68;
  ASSERT_NE(std::find(golden.source.begin(), golden.source.end(), kToken), golden.source.end());
  ASSERT_NE(std::find(golden.generated.begin(), golden.generated.end(), kToken),
            golden.generated.end());
  Tensors tensors = tensors_of(folder);
  const std::string encoder = "model.encoder.embed_tokens.",
                    decoder = "model.decoder.embed_tokens.";
  const auto& [shape, rows] = tensors.at(encoder + "weight");
  const auto width = static_cast<size_t>(shape.at(1));
  std::vector<float> vector;
  for (size_t i = 0; i < width; ++i) {
    vector.push_back(rows[kToken * width + i] * std::sqrt(static_cast<float>(width)));
  }
  tensors[encoder + "eoi_embedding"].second = vector;
  write_tensors(changed.path(), tensors);
  write_file(changed / "config.json",
             std::regex_replace(text, std::regex(R"("eoi_token_index": 153)"),
                                R"("eoi_token_index": 68)"));
  expect_golden_of(changed.path(), golden);

  // The row of the token itself is not used then, except by the head.
  tensors["lm_head.out_proj.weight"] = tensors[decoder + "weight"] = tensors[encoder + "weight"];
  tensors[decoder + "eoi_embedding"] = tensors[encoder + "eoi_embedding"];
  for (const std::string& place : {encoder, decoder}) {
    for (size_t i = 0; i < width; ++i) tensors[place + "weight"].second[kToken * width + i] = 7;
  }
  write_tensors(changed.path(), tensors);
  write_file(changed / "config.json",
             std::regex_replace(std::regex_replace(text, std::regex(R"("eoi_token_index": 153)"),
                                                   R"("eoi_token_index": 68)"),
                                std::regex(R"("tie_word_embeddings": true)"),
                                R"("tie_word_embeddings": false)"));
  expect_golden_of(changed.path(), golden);
}

INSTANTIATE_TEST_SUITE_P(
    Models, EncoderDecoders,
    testing::Values("architectures2/flan_t5", "architectures2/t5", "models2026/enc/bart",
                    "models2026/enc/blenderbot", "models2026/enc/led", "models2026/enc/longt5",
                    "models2026/enc/m2m_100", "models2026/enc/marian", "models2026/enc/mbart",
                    "models2026/enc/pegasus", "models2026/enc/t5gemma", "models2026/enc/t5gemma2"),
    [](const auto& test) { return std::filesystem::path(test.param).filename().string(); });

}  // namespace
}  // namespace pippin
