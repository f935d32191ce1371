#include "pippin/io/model_files.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

FileRole role_of(std::string_view path) {
  const ModelFile* row = find_model_file(path);
  EXPECT_NE(row, nullptr) << path;
  return row == nullptr ? FileRole::Processor : row->role;
}

Names names(const fs::path& folder, FileRole role) {
  Names found;
  for (const fs::path& path : files_of_role(folder, role)) {
    found.push_back(path.lexically_relative(folder).generic_string());
  }
  return found;
}

void write_files(const fs::path& folder, const Names& files) {
  for (const std::string& name : files) {
    fs::create_directories((folder / name).parent_path());
    write_file(folder / name, "x");
  }
}

TEST(ModelFiles, NoNameStandsTwice) {
  std::set<std::string_view> seen;
  for (const ModelFile& row : kModelFiles) EXPECT_TRUE(seen.insert(row.name).second) << row.name;
}

TEST(ModelFiles, PathsFindTheirRow) {
  EXPECT_EQ(role_of("config.json"), FileRole::Config);
  EXPECT_EQ(role_of("vocab.json"), FileRole::Tokenizer);
  EXPECT_EQ(role_of("qwen.tiktoken"), FileRole::Tokenizer);
  EXPECT_EQ(role_of("merges.txt"), FileRole::TokenizerPart);
  EXPECT_EQ(role_of("additional_chat_templates/rag.jinja"), FileRole::ChatTemplate);
  EXPECT_EQ(role_of("meta.json"), FileRole::Family);
  for (const char* path :
       {"", "Config.json", "sub/config.json", "config.json/", "sub/x.tiktoken", "rag.jinja",
        "additional_chat_templates/deep/rag.jinja", "additional_chat_templates/x.txt",
        "x/additional_chat_templates/rag.jinja", "model.safetensors"}) {
    EXPECT_EQ(find_model_file(path), nullptr) << path;
  }
}

TEST(ModelFiles, OfAFolderByRole) {
  const TempDir dir;
  EXPECT_EQ(names(dir.path(), FileRole::Tokenizer), Names());
  EXPECT_EQ(names(dir / "none", FileRole::Tokenizer), Names());
  write_files(dir.path(), {"vocab.json", "b.tiktoken", "a.tiktoken", "spiece.model", "x.jinja",
                           "additional_chat_templates/tool_use.jinja", "chat_template.jinja",
                           "additional_chat_templates/rag.jinja"});
  fs::create_directories(dir / "c.tiktoken");
  EXPECT_EQ(names(dir.path(), FileRole::Tokenizer),
            Names({"spiece.model", "a.tiktoken", "b.tiktoken"}));  // vocab.json alone does not
                                                                   // count
  write_files(dir.path(), {"merges.txt"});
  EXPECT_EQ(names(dir.path(), FileRole::Tokenizer),
            Names({"spiece.model", "vocab.json", "a.tiktoken", "b.tiktoken"}));
  EXPECT_EQ(names(dir.path(), FileRole::ChatTemplate),
            Names({"chat_template.jinja", "additional_chat_templates/rag.jinja",
                   "additional_chat_templates/tool_use.jinja"}));
}

TEST(ModelFiles, NotMoreThanALimit) {
  const TempDir dir;
  Names many;
  for (size_t i = 0; i < kMostModelFiles; ++i) many.push_back(std::to_string(i) + ".tiktoken");
  write_files(dir.path(), many);
  EXPECT_EQ(files_of_role(dir.path(), FileRole::Tokenizer).size(), kMostModelFiles);
  write_files(dir.path(), {"more.tiktoken"});
  EXPECT_ERROR(files_of_role(dir.path(), FileRole::Tokenizer), ErrorCode::LimitExceeded,
               "more than 256 files *.tiktoken");
}

TEST(ModelFiles, Weights) {
  const auto fits = [](std::string_view name) {
    for (const WeightFiles& form : kWeightFiles) {
      if (fits_weights(form, name)) return true;
    }
    return false;
  };
  for (const char* name : {"model.safetensors", "model-00001-of-00002.safetensors",
                           "pytorch_model-1.bin", "weights.npz", "weights.00.npz"}) {
    EXPECT_TRUE(fits(name)) << name;
  }
  for (const char* name : {"consolidated.00.safetensors", "adapter_model.safetensors", "rng.bin",
                           "model.npz", "model.safetensors.index.json", "safetensors"}) {
    EXPECT_FALSE(fits(name)) << name;
  }
  const TempDir dir;
  EXPECT_FALSE(has_weights(dir / "none"));
  write_files(dir.path(), {"consolidated.safetensors", "config.json"});
  EXPECT_FALSE(has_weights(dir.path()));
  write_files(dir.path(), {"pytorch_model.bin.index.json"});
  EXPECT_TRUE(has_weights(dir.path()));
}

}  // namespace
}  // namespace pippin
