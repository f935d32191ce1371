// The text encoders of data/models2026/enc, compared with transformers 5: states, pooled states,
// scores of texts and of tokens, from the folder and from the package.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/families/encoder.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/runtime/encoder_schema.h"
#include "tests/broken_config.h"
#include "tests/encoder_testing.h"
#include "tests/golden_testing.h"

namespace pippin {
namespace {

namespace family = families::encoder;
using models::BuildOptions;
using testing_encoders::difference;
using testing_encoders::difference_at_tokens;
using testing_encoders::RunningEncoder;
using testing_encoders::Texts;
using testing_encoders::tokens_of;
using testing_models::largest;

const std::string kPlace = "models2026/enc/";

// An output of transformers and the corresponding output of the program.
struct Output {
  const char* golden;
  const char* program;
};
constexpr Output kOutputs[] = {{"last_hidden_state", family::kStates},
                               {"pooler_output", family::kPooler},
                               {"text_embeds", family::kEmbedding},
                               {"logits", family::kLogits}};

// Numbers for each token; those at padding are undefined.
bool is_of_tokens(const Texts& texts, const char* name) {
  const auto shape = texts.golden.read(name).shape;
  return shape.size() > 1 && static_cast<int64_t>(shape[1]) == texts.length;
}

// The largest difference of an output, relative to its largest number.
double error_of(const Texts& texts, RunningEncoder& encoder, const Output& output) {
  const std::vector<double> expected = texts.doubles(output.golden);
  const std::vector<double> values = encoder.run(texts, output.program);
  if (values.size() != expected.size()) {
    ADD_FAILURE() << output.golden << ": " << values.size() << " of " << expected.size();
    return 1;
  }
  const double worst = is_of_tokens(texts, output.golden)
                           ? difference_at_tokens(texts, values, expected)
                           : difference(values, expected);
  return worst / largest(expected);
}

void expect_exact(const std::filesystem::path& folder) {
  const Texts texts(folder);
  const mil::Model model =
      models::build_encoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  for (const auto precision : {engine::Precision::Exact, engine::Precision::Fast}) {
    RunningEncoder encoder(model, precision);
    int outputs = 0;
    for (const Output& output : kOutputs) {
      if (!texts.golden.contains(output.golden)) continue;
      ++outputs;
      EXPECT_LE(error_of(texts, encoder, output), 5e-5) << output.golden;
    }
    EXPECT_GT(outputs, 0);
  }
}

// Each text alone, without padding, unless its tokens attend to padding.
void expect_alone(const std::filesystem::path& folder) {
  const Texts texts(folder);
  const mil::Model model =
      models::build_encoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  if (model.metadata.user_defined.contains(family::kPaddingKey)) return;
  RunningEncoder encoder(model, engine::Precision::Exact);
  for (const Output& output : kOutputs) {
    if (!texts.golden.contains(output.golden)) continue;
    const std::vector<double> all = texts.doubles(output.golden);
    const size_t per_text = all.size() / static_cast<size_t>(texts.rows);
    for (int64_t row = 0; row < texts.rows; ++row) {
      const auto [begin, end] = tokens_of(texts, row);
      const auto one = encoder.run(texts, row, 1, begin, end, output.program);
      const size_t skipped =
          is_of_tokens(texts, output.golden)
              ? per_text / static_cast<size_t>(texts.length) * static_cast<size_t>(begin)
              : 0;
      const auto first =
          all.begin() + static_cast<int64_t>(per_text) * row + static_cast<int64_t>(skipped);
      EXPECT_LE(difference(one, {first, first + std::ssize(one)}) / largest(all), 5e-5)
          << output.golden << ", text " << row;
    }
  }
}

void expect_package(const std::filesystem::path& folder) {
  const Texts texts(folder);
  const TempDir out;
  mil::write_package(models::build_encoder(folder), out / "model.mlpackage");
  const mil::Model model = mil::read_package(out / "model.mlpackage");
  EXPECT_TRUE(runtime::encoder_schema(model).has_value());
  RunningEncoder encoder(model);
  for (const Output& output : kOutputs) {
    if (!texts.golden.contains(output.golden)) continue;
    EXPECT_LE(error_of(texts, encoder, output), 1e-2) << output.golden;
  }
}

class EncoderGolden : public testing::TestWithParam<const char*> {};

TEST_P(EncoderGolden, FolderInExact) {
  PIPPIN_SHARED_OR_SKIP(folder, kPlace + GetParam());
  expect_exact(folder);
}

TEST_P(EncoderGolden, TextsAlone) {
  PIPPIN_SHARED_OR_SKIP(folder, kPlace + GetParam());
  expect_alone(folder);
}

TEST_P(EncoderGolden, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, kPlace + GetParam());
  expect_package(folder);
}

// The text sides of pairs of towers.
const std::set<std::string> kPairs = {"aimv2_lit", "clip", "metaclip2", "siglip", "siglip_b"};

TEST(EncoderGoldens, TextsOfPairs) {
  for (const std::string& name : kPairs) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(folder, kPlace + name);
    expect_exact(folder);
    expect_alone(folder);
    expect_package(folder);
  }
}

const std::vector<const char*>& cases() {
  static const std::vector<const char*> all = {"bert_mlm",
                                               "clip_text_proj",
                                               "convbert",
                                               "data2vec_text",
                                               "deberta_v1",
                                               "deberta_v2_cls",
                                               "deberta_v2_conv",
                                               "deberta_v2_tokens",
                                               "electra_disc",
                                               "ernie",
                                               "esm2",
                                               "eurobert",
                                               "eurobert_cls",
                                               "eurobert_cls_mean",
                                               "gemma2_cls",
                                               "jina_v3",
                                               "llama_tokens",
                                               "megatron_bert",
                                               "modernbert_mean",
                                               "modernbert_tokens",
                                               "modernvbert",
                                               "nomic_bert_hf",
                                               "roberta_prelayernorm",
                                               "roberta_tokens",
                                               "roformer",
                                               "squeezebert",
                                               "t5_encoder_gemma",
                                               "xlm_roberta_mlm"};
  return all;
}
INSTANTIATE_TEST_SUITE_P(Models, EncoderGolden, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param); });

// Models of images, and encoder–decoders, which encoder_decoders_test.cpp tests.
const std::set<std::string> kOthers = {
    "aimv2",   "beit_cls",   "blenderbot",      "bart",    "convnext",  "depth_anything",
    "dinov2",  "dinov2_reg", "dinov3_convnext", "led",     "longt5",    "m2m_100",
    "marian",  "mbart",      "mobilenet_v2",    "pegasus", "segformer", "t5gemma",
    "t5gemma2"};

TEST(EncoderGoldens, EveryTextEncoderIsHere) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "models2026/enc");
  const std::set<std::string> known(cases().begin(), cases().end());
  for (const auto& folder : folders) {
    const std::string name = folder.filename().string();
    EXPECT_EQ(known.count(name) + kOthers.count(name) + kPairs.count(name), 1U) << name;
  }
}

// An invalid configuration is rejected by key and value.
TEST(EncoderGoldens, ConfigurationErrorsNameKeyAndValue) {
  const BrokenConfig broken[] = {
      {"eurobert_cls", "classifier_pooling", R"("last")", "classifier_pooling: 'last' is not"},
      {"convbert", "conv_kernel_size", "4", "conv_kernel_size: 4 is not an odd number"},
      {"convbert", "head_ratio", "4", "head_ratio: only 2 and an even number of heads"},
      {"convbert", "num_groups", "3", "hidden_size: 32 is not a multiple of num_groups 3"},
      {"squeezebert", "q_groups", "5", "hidden_size: 32 is not a multiple of q_groups 5"},
      {"deberta_v1", "pos_att_type", R"(["p2p"])", "pos_att_type: 'p2p' is not supported"},
      {"deberta_v1", "talking_head", "true", "talking_head: true is not supported"},
      {"deberta_v2_conv", "conv_kernel_size", "2", "conv_kernel_size: 2 is not an odd number"},
      {"deberta_v2_conv", "conv_groups", "3", "hidden_size: 32 is not a multiple of conv_groups"},
      {"roformer", "rotary_value", "true", "rotary_value: true is not supported"},
      {"esm2", "position_embedding_type", R"("relative_key")", "'relative_key' is not supported"},
      {"esm2", "is_folding_model", "true", "is_folding_model: true is not supported"},
      {"jina_v3", "position_embedding_type", R"("alibi")", "'alibi' is not supported"},
      {"clip_text_proj", "eos_token_id", "999", "eos_token_id: not a token"},
      {"t5_encoder_gemma", "encoder", "null", "encoder: missing"},
  };
  const int refused =
      expect_refused(kPlace, broken, [](const auto& path) { models::build_encoder(path); });
  if (refused == 0) GTEST_SKIP() << shared_data_absent("models2026");
}

}  // namespace
}  // namespace pippin
