#include "pippin/mil/package/archive.h"

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/zip_testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kText =
    "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [16]> x) {\n"
    "            tensor<fp16, [16]> w = const()[val = tensor<fp16, [16]>([1, 2, 3, 4, 5, 6, 7, 8, "
    "9, 10, 11, 12, 13, 14, 15, 16])];\n"
    "            tensor<fp16, [16]> y = add(x = x, y = w);\n        } -> (y);\n}\n";

// A package with a weight file and a tokenizer.
void write_tested(const fs::path& path) {
  write_package(describe_program(parse_text(kText, "text")), path,
                {.extra_files = {{std::string(kTokenizerItem), "tokenizer.json", "{}"}}});
}

// The files of a folder, with `prefix` before their names.
Files files_of(const fs::path& folder, const std::string& prefix) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files.emplace_back(prefix + entry.path().lexically_relative(folder).string(),
                       read_file(entry.path()));
  }
  return files;
}

std::string text_of(const Model& model) {
  return print(model.program, {.values = true});
}

TEST(Archive, PackagesAreReadFromArchives) {
  const TempDir folder;
  write_tested(folder / "m.mlpackage");
  const std::string wanted = text_of(read_package(folder / "m.mlpackage"));
  for (const char* prefix : {"m.mlpackage/", "", "a/b/m.mlpackage/"}) {
    // Any name will do: the content decides.
    for (const char* name : {"m.mlpackage.zip", "download"}) {
      put_file(folder / name, stored_zip(files_of(folder / "m.mlpackage", prefix)));
      EXPECT_TRUE(is_archive(folder / name));
      EXPECT_EQ(text_of(read_package(folder / name)), wanted) << prefix << name;
      const auto extra = read_extra_files(folder / name);
      ASSERT_EQ(extra.size(), 1U);
      EXPECT_EQ(extra[0].name, "tokenizer.json");
      fs::remove(folder / name);
    }
  }
}

TEST(Archive, ModelFilesAreReadFromGzipAndZip) {
  const TempDir folder;
  write_tested(folder / "m.mlpackage");
  Model model = describe_program(parse_text(kText, "text"));
  const std::string bytes = serialize_model(model, [](const Value&) { return std::nullopt; });
  put_file(folder / "m.mlmodel.gz", stored_gzip(bytes));
  put_file(folder / "gz", stored_gzip(bytes));
  put_file(folder / "m.zip", stored_zip({{"x/m.mlmodel", bytes}, {"x/readme.txt", "text"}}));
  put_file(folder / "t.mil.gz", stored_gzip(kText));
  for (const char* name : {"m.mlmodel.gz", "gz", "m.zip", "t.mil.gz"}) {
    EXPECT_EQ(text_of(read_package(folder / name)), text_of(model)) << name;
  }
  EXPECT_TRUE(is_package(folder / "m.mlmodel.gz"));
  EXPECT_FALSE(is_package(folder / "m.zip"));  // in a folder, the full extension is required
}

TEST(Archive, WhatHoldsNoPackageOrSeveralIsRefused) {
  const TempDir folder;
  const auto refuses = [&](const char* name, const std::string& content, ErrorCode code,
                           const char* part) {
    put_file(folder / name, content);
    EXPECT_ERROR(read_package(folder / name), code, part);
  };
  refuses("a.zip", stored_zip({{"readme.txt", "text"}}), ErrorCode::InvalidFile,
          "a.zip: an archive without a package in it");
  refuses("b.zip", stored_zip({{"b.mlmodel", "1"}, {"a.mlmodel", "2"}}), ErrorCode::InvalidFile,
          "holds several packages, 'a.mlmodel' and 'b.mlmodel'");
  refuses("c.zip", "text", ErrorCode::InvalidFile, "no zip archive");
  refuses("d.gz", "text", ErrorCode::InvalidFile, "not a gzip file");
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  refuses("e.tar.gz", stored_gzip(tar), ErrorCode::Unsupported, "unpack it first (tar xzf)");
}

TEST(Archive, TheTextOfAProgramIsAModel) {
  const TempDir folder;
  put_file(folder / "alone.mil", kText);
  const Model model = read_package(folder / "alone.mil");
  EXPECT_EQ(model.description("main").inputs.at(0).shape, (std::vector<int64_t>{16}));
  // Next to its weights, with the interface of the compiled model that it comes from.
  write_tested(folder / "m.mlpackage");
  write_compiled(read_package(folder / "m.mlpackage"), folder / "m.mlmodelc");
  const Model part = read_package(folder / "m.mlmodelc/model.mil");
  EXPECT_EQ(text_of(part), text_of(read_package(folder / "m.mlmodelc")));
  EXPECT_TRUE(is_package(folder / "alone.mil"));
}

}  // namespace
}  // namespace pippin::mil
