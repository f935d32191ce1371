// The metadata and the tables of model cards.
#include "pippin/app/card/card.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/io/yaml.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

CardMetadata metadata_of(const std::string& readme) {
  const TempDir scratch;
  std::ofstream(scratch / "README.md") << readme;
  return read_card_metadata(scratch / "README.md");
}

TEST(CardMetadata, IsCarriedOver) {
  const CardMetadata read = metadata_of(
      "---\r\nlicense: other\r\nlicense_name: llama3\r\nlanguage:\r\n- en\r\n- 'no'\r\n"
      "pipeline_tag: text-generation\r\ntags: [a, b]\r\n---\r\n# Title\r\n---\r\nlicense: mit\r\n");
  EXPECT_EQ(read.license, "other");
  EXPECT_EQ(read.license_name, "llama3");
  EXPECT_EQ(read.languages, (std::vector<std::string>{"en", "no"}));
  EXPECT_EQ(read.pipeline_tag, "text-generation");
  EXPECT_TRUE(read.tags.empty());
  EXPECT_EQ(metadata_of("# Title\nlicense: mit\n").license, "");
  EXPECT_EQ(metadata_of("---\nlicense: mit\n").license, "");  // without an end
  EXPECT_THROW(metadata_of("---\nlicense: {a: *b}\n---\n"), Error);
}

TEST(CardMetadata, AnyTextComesBack) {
  CardMetadata metadata;
  metadata.base_model = "org/name-1.5_b";
  metadata.license = "other";
  metadata.license_name = "a: \"b\" # c\n---\nlicense: mit";
  metadata.license_link = "LICENSE";
  metadata.languages = {"en", "no", "y"};
  metadata.tags = {"true", "1.5", "- x", ""};
  metadata.quantization = {"int8: linear"};
  const std::string text = write_card_metadata(metadata);
  ASSERT_TRUE(text.starts_with("---\n") && text.ends_with("\n---\n"));
  const Json yaml = parse_yaml(text.substr(4, text.size() - 8), "card");
  EXPECT_EQ(yaml.get_string("license_name"), metadata.license_name);
  EXPECT_EQ(yaml.get_strings("language"), metadata.languages);
  EXPECT_EQ(yaml.get_strings("tags"), metadata.tags);
  EXPECT_EQ(yaml.get_strings("quantization"), metadata.quantization);
  EXPECT_NE(text.find("base_model: org/name-1.5_b\n"), std::string::npos);
  EXPECT_EQ(text.find("pipeline_tag"), std::string::npos);
}

constexpr const char* kAgreement =
    R"({"date": "2026-11-30T18:00:00Z", "tokens": 100, "mean_kl": 0.012345, "max_kl": 0.5,
        "top1": 0.975, "perplexity": 12.3456, "source_perplexity": 12, "greedy_tokens": 64,
        "first_difference": 7})";
constexpr const char* kSpeed =
    R"({"date": "2026-11-30T18:00:00Z", "device": "cpu", "cpu": "Some CPU", "threads": 2,
        "peak_memory_bytes": 1000000, "second_load": {"load_seconds": 0.25}, "results": [
        {"n_prompt": 64, "n_gen": 0, "n_depth": 0, "n_parallel": 1, "median_tokens_per_second": 500},
        {"n_prompt": 0, "n_gen": 32, "n_depth": 0, "n_parallel": 4, "median_tokens_per_second": 99},
        {"n_prompt": 0, "n_gen": 32, "n_depth": 0, "n_parallel": 1, "median_tokens_per_second": 40}]})";

TEST(Card, TablesHaveWhatWasMeasured) {
  const std::string agreement = card_agreement_section({{"int8", Json::parse(kAgreement, "v")}});
  EXPECT_NE(
      agreement.find("| `int8` | 100 | 0.01235 | 0.5000 | 97.50 % | 12.346 | 12.000 | token 7 "
                     "of 64 differs | 2026-11-30 |"),
      std::string::npos)
      << agreement;
  const std::string speed = card_speed_section({{"", Json::parse(kSpeed, "b")}});
  EXPECT_NE(
      speed.find("| all | Some CPU | 2 | 500.0 (64 tokens) | 40.0 (32 tokens) | 1.0 MB | 0.25 "
                 "s | 2026-11-30 |"),
      std::string::npos)
      << speed;
  EXPECT_EQ(card_agreement_section({}), "");
  EXPECT_EQ(card_speed_section({}), "");
  EXPECT_THROW(card_speed_section({{"", Json::parse("{}", "b")}}), Error);
}

TEST(Card, SeveralModels) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  ConvertOptions options;
  convert(folder, scratch / "plain.mlpackage", options);
  options.compression.quantize = "int8";
  convert(folder, scratch / "int8.mlpackage", options);
  options.family = "windowed";
  convert(folder, scratch / "iphone", options);

  const auto models = find_card_models(scratch.path());
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].path, "int8.mlpackage");
  EXPECT_EQ(models[0].family, "stateful");
  EXPECT_EQ(models[0].packages.at(0).forms, std::vector<std::string>{"linear"});
  EXPECT_TRUE(models[0].packages[0].weights.starts_with("int8 ")) << models[0].packages[0].weights;
  EXPECT_EQ(models[1].packages.at(0).forms, std::vector<std::string>{});
  EXPECT_EQ(models[1].packages[0].weights, "fp16 100 %");
  EXPECT_EQ(models[2].family, "windowed");
  EXPECT_GT(models[2].packages.size(), 2U);

  CardOptions card;
  card.repo = "org/stories-coreml";
  card.base = "org/stories";
  card.version = "pippin 0.1.0 (01234567)";
  card.carried.license = "mit";
  card.agreements.push_back({"int8", Json::parse(kAgreement, "v")});
  const std::string text = write_card(scratch.path(), card);
  for (const char* part :
       {"base_model: org/stories\nbase_model_relation: quantized\nlibrary_name: coremltools\n",
        "license: mit\n", "- \"int8: linear\"\n", "# stories-coreml\n", "| `int8.mlpackage` | ",
        "| `int8` | 100 |", "LLMCLI --local-model-directory stories-coreml/iphone\n",
        "pippin run org/stories-coreml/plain.mlpackage "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("## Speed"), std::string::npos);
  card.agreements.front().model = "int4";
  EXPECT_ERROR(write_card(scratch.path(), card), ErrorCode::InvalidArgument,
               "a report of \"int4\", which is not one of the models");

  // A package alone, and a folder that is one model.
  EXPECT_EQ(find_card_models(scratch / "int8.mlpackage").at(0).path, "int8.mlpackage");
  EXPECT_EQ(find_card_models(scratch / "iphone").at(0).path, "");
  fs::create_directories(scratch / "empty");
  EXPECT_ERROR(find_card_models(scratch / "empty"), ErrorCode::NotFound, "no .mlpackage");
}

}  // namespace
}  // namespace pippin::app
