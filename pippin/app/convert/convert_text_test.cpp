// The files needed for text are copied with a converted model, whatever their form, in every
// family.
#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/chat/template_sources.h"
#include "pippin/io/model_files.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/tokenizers/files/sentencepiece_testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

constexpr const char* kText = "ab a<x>bab";

// As many ranks as GPT-2's encoding has: the bytes, and tokens that no text here uses.
std::string tiktoken() {
  std::string text;
  for (int rank = 0; rank < 50256; ++rank) {
    std::string token(1, static_cast<char>(rank));
    if (rank > 255) {
      token = {'\xFF', static_cast<char>(rank >> 8), static_cast<char>(rank)};
    }
    text += encode_base64(std::as_bytes(std::span(token))) + " " + std::to_string(rank) + "\n";
  }
  return text;
}

struct Kind {
  const char* name;
  Files (*files)();
};

const Kind kKinds[] = {
    {"TokenizerJson",
     [] {
       return Files{
           {"tokenizer.json", read_file(demo_model_folder() / "tokenizer.json")},
           {"tokenizer_config.json", read_file(demo_model_folder() / "tokenizer_config.json")}};
     }},
    {"TokenizerModel",
     [] {
       return Files{{"tokenizer.model", sentencepiece_testing::sample(2)},
                    {"tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})"},
                    {"added_tokens.json", R"({"<x>": 10})"}};
     }},
    {"SpieceModel",
     [] {
       return Files{{"spiece.model", sentencepiece_testing::sample(1, true)}};
     }},
    {"VocabAndMerges",
     [] {
       return Files{{"vocab.json", R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4})"},
                    {"merges.txt", "#version: 0.2\na b\n\u0120 ab\n"},
                    {"added_tokens.json", R"({"<x>": 7})"}};
     }},
    {"Tiktoken",
     [] {
       return Files{{"some.tiktoken", tiktoken()}};
     }},
    {"TiktokenModel",
     [] {
       return Files{{"tiktoken.model", tiktoken()}};
     }},
};

// A model's folder with these text files.
void write_model(const fs::path& folder, const Files& files) {
  fs::create_directories(folder);
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors"}) {
    fs::copy_file(demo_model_folder() / name, folder / name);
  }
  for (const auto& [name, content] : files) {
    fs::create_directories((folder / name).parent_path());
    write_file(folder / name, content);
  }
}

fs::path convert_as(const std::string& family, const fs::path& source, fs::path output) {
  ConvertOptions options;
  options.family = family;
  options.context = 64;
  options.window = 16;
  options.cache = 48;
  options.chunks = family == "anemll" ? 2 : 0;
  if (family == "stateful") output += ".mlpackage";
  convert(source, output, options);
  return output;
}

void expect_same_templates(const fs::path& source, const fs::path& folder) {
  const auto before = chat::read_template_folder(source),
             after = chat::read_template_folder(folder);
  EXPECT_EQ(before.names(), after.names());
  for (const chat::TemplateSource& one : before.templates) {
    ASSERT_NE(after.find(one.name), nullptr) << one.name;
    EXPECT_EQ(after.find(one.name)->text, one.text);
  }
  EXPECT_EQ(before.special_tokens.size(), after.special_tokens.size());
}

class ConvertText : public testing::TestWithParam<std::tuple<Kind, std::string>> {};

TEST_P(ConvertText, TheTokenizerComesAlong) {
  const auto& [kind, family] = GetParam();
  const TempDir scratch;
  const fs::path source = scratch / "source";
  write_model(source, kind.files());
  const fs::path output = convert_as(family, source, scratch / "out");

  auto packages = runtime::find_packages(output);
  const auto ids = Tokenizer::open(packages.tokenizer_folder()).encode(kText);
  EXPECT_EQ(ids, Tokenizer::open(source).encode(kText));
  EXPECT_FALSE(ids.empty());

  // It runs on its own.
  runtime::LoadOptions load;
  load.threads = 1;
  load.compute.cache = nullptr;
  auto model = runtime::load_model(std::move(packages), {}, load);
  EXPECT_EQ(model.tokenizer.encode(kText), ids);
  runtime::GenerateOptions options;
  options.max_tokens = 2;
  const auto result =
      runtime::generate(*model.model->new_sequence(), ids, options, [](int32_t) { return true; });
  EXPECT_GE(result.ids.size(), 1U);
}

// Copies every text file, and no others, also when converting from a package.
TEST_P(ConvertText, AllOfItsFilesComeAlong) {
  const auto& [kind, family] = GetParam();
  const TempDir scratch;
  const fs::path source = scratch / "source";
  Files files = kind.files();
  files["chat_template.jinja"] = "{{ bos_token }}default";
  files["additional_chat_templates/rag.jinja"] = "rag";
  files["additional_chat_templates/tool_use.jinja"] = "tools";
  files["chat_template.json"] = R"({"chat_template": "old"})";
  files["special_tokens_map.json"] = R"({"bos_token": "<s>"})";
  files["vocab.txt"] = "a\nb\n";
  write_model(source, files);
  write_file(source / "README.md", "#");
  write_file(source / "preprocessor_config.json", "{}");
  write_file(source / "meta.yaml", "model_info: {}");
  files["config.json"] = read_file(source / "config.json");
  files["generation_config.json"] = read_file(source / "generation_config.json");

  const fs::path first = convert_as(family, source, scratch / "first");
  const fs::path second = convert_as(family, first, scratch / "second");
  for (const fs::path& output : {first, second}) {
    const fs::path folder = runtime::find_packages(output).tokenizer_folder();
    for (const auto& [name, content] : files) {
      ASSERT_TRUE(fs::exists(folder / name)) << name;
      EXPECT_EQ(read_file(folder / name), content) << name;
    }
    for (const char* name : {"README.md", "preprocessor_config.json"}) {
      EXPECT_FALSE(fs::exists(folder / name)) << name;
    }
    expect_same_templates(source, folder);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ConvertText,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::Values("stateful", "anemll", "windowed")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + "_" +
                                  std::get<1>(one.param);
                         });

// Tests the code that opens tokenizers.
TEST(ConvertText, KnowsEveryKindOfTokenizerFile) {
  for (const ModelFile& row : kModelFiles) {
    if (row.role != FileRole::Tokenizer) continue;
    const bool known = std::any_of(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
      const Files files = kind.files();
      return std::any_of(files.begin(), files.end(),
                         [&](const auto& file) { return find_model_file(file.first) == &row; });
    });
    EXPECT_TRUE(known) << row.name;
  }
}

}  // namespace
}  // namespace pippin::app
