#include "pippin/io/yaml.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"

namespace pippin {
namespace {

ErrorCode code_of(const std::string& text, const YamlLimits& limits = {}) {
  try {
    parse_yaml(text, "meta.yaml", limits);
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("meta.yaml: ")) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::Internal;
}

TEST(Yaml, ReadsWhatMetaFilesHave) {
  const Json yaml = parse_yaml(
      "model_info:\n"
      "  name: anemll-x-ctx512\n"
      "  version: 0.3.5\n"
      "  description: |\n"
      "    Two\n"
      "    lines\n"
      "  parameters:\n"
      "    context_length: 512\n"
      "    lut_ffn: none\n"
      "    lut_text: \"6\"\n"
      "    argmax_in_model: true\n"
      "    tokenizer_path: ~\n"
      "    lm_head_chunk_sizes: [16, 17]\n"
      "    recommended_sampling:\n"
      "      temperature: 0.6\n"
      "# a comment\n",
      "meta.yaml");
  const Json info = yaml.at("model_info");
  EXPECT_EQ(info.get_string("version"), "0.3.5");
  EXPECT_EQ(info.get_string("description"), "Two\nlines\n");
  const Json parameters = info.at("parameters");
  EXPECT_EQ(parameters.get_int("context_length"), 512);
  EXPECT_EQ(parameters.get_string("lut_ffn"), "none");
  EXPECT_EQ(parameters.get_string("lut_text"), "6");
  EXPECT_TRUE(parameters.get_bool("argmax_in_model"));
  EXPECT_FALSE(parameters.has("tokenizer_path"));
  EXPECT_EQ(parameters.get_ints("lm_head_chunk_sizes"), (std::vector<int64_t>{16, 17}));
  EXPECT_DOUBLE_EQ(parameters.at("recommended_sampling").get_float("temperature"), 0.6);
}

TEST(Yaml, AnEmptyFileIsNull) {
  EXPECT_TRUE(parse_yaml("", "meta.yaml").is_null());
  EXPECT_TRUE(parse_yaml("# nothing\n", "meta.yaml").is_null());
}

TEST(Yaml, RefusesHostileFiles) {
  EXPECT_EQ(code_of("a: [1\nb: 2"), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of("a: &x [1, 1]\nb: [*x, *x]"), ErrorCode::Unsupported);
  EXPECT_EQ(code_of("? [1, 2]\n: 3"), ErrorCode::Unsupported);
  EXPECT_EQ(code_of("a: \xff\xfe\xff"), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of(std::string(100, '[') + std::string(100, ']')), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(std::string(100'000, '[')), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(std::string(2 << 20, ' ')), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of("[1, 2, 3, 4]", {.max_values = 4}), ErrorCode::LimitExceeded);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(code_of(deep), ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace pippin
