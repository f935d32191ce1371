#include "pippin/app/convert/repackage.h"

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/blob_file.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "Data/com.apple.CoreML/weights";

// The whole model, weights included.
std::string inline_bytes(const mil::Model& model) {
  return serialize_model(model, [](const mil::Value&) { return std::nullopt; });
}

TEST(Repackage, CompiledModelsComeBackEqual) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  TempDir scratch;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(coremltools)) {
    if (entry.path().extension() != ".mlpackage") continue;
    SCOPED_TRACE(entry.path());
    const mil::Model model = mil::read_package(entry.path());
    const fs::path compiled = scratch / "m.mlmodelc", output = scratch / "m.mlpackage";
    fs::remove_all(compiled);
    mil::write_compiled(model, compiled);
    const RepackageResult result = repackage(compiled, output);
    EXPECT_EQ(result.path, output);
    ASSERT_TRUE(inline_bytes(mil::read_package(output)) == inline_bytes(model));
    // And a package from a package: only the location of the weights changes.
    repackage(entry.path(), output);
    ASSERT_TRUE(inline_bytes(mil::read_package(output)) == inline_bytes(model));
    ++count;
  }
  EXPECT_GE(count, 60);
}

TEST(Repackage, RealCompiledModels) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  TempDir scratch;
  for (const char* name : {"silero_vad.mlmodelc", "add_model.mlmodelc"}) {
    const fs::path output = scratch / "m.mlpackage";
    repackage(packages / name, output);
    EXPECT_TRUE(inline_bytes(mil::read_package(output)) ==
                inline_bytes(mil::read_package(packages / name)));
  }
}

TEST(Repackage, AttributesOfTheCompilerAreLeftOut) {
  TempDir scratch;
  mil::put_file(scratch / "m.mlmodelc/model.mil",
                "program(1.3) { func main<ios18>(tensor<fp32, [?]> x) [FlexibleShapeInformation = "
                "tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, "
                "list<tensor<int32, [2]>, ?>>>>(((\"DefaultShapes\", {{\"x\", [4]}}), "
                "(\"RangeDims\", {{\"x\", [[1, 8]]}})))] { tensor<fp32, [?]> y = relu(x = x); } "
                "-> (y); }");
  repackage(scratch / "m.mlmodelc", scratch / "m.mlpackage");
  const mil::Model model = mil::read_package(scratch / "m.mlpackage");
  EXPECT_TRUE(model.program.function("main").attributes.empty());
  EXPECT_EQ(model.description("main").inputs.at(0).ranges, (std::vector<mil::SizeRange>{{1, 8}}));
  EXPECT_EQ(model.description("main").inputs.at(0).shape, (std::vector<int64_t>{4}));
}

TEST(Repackage, FilesOfThePackageStayAndUnusedWeightsGo) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  TempDir scratch;
  const fs::path path = scratch / "m.mlpackage";
  mil::WriteOptions options;
  options.extra_files = {{"huggingface", "tokenizer.json", "{}"},
                         {"huggingface", "more/file.txt", "text"},
                         {"notes.txt", "", "note"}};
  mil::Model model = mil::read_package(coremltools / "llama_int8_per_channel.mlpackage");
  write_package(model, path, options);
  // A constant that gets new elements: its blob is no longer used.
  const auto blobs = [&] { return BlobFile::open(path / kWeights / "weight.bin")->count(); };
  const uint32_t before = blobs();
  mil::Model changed = mil::read_package(path);
  for (const auto& operation : changed.program.function("main").block().operations()) {
    const mil::Value* value = operation->constant_value();
    if (value == nullptr || !value->blob) continue;
    mil::Value& own = operation->attributes()["val"];
    own.bytes = own.read_bytes();
    own.source = nullptr;
    own.blob.reset();
    break;
  }
  mil::put_file(path / "Data/com.apple.CoreML/model.mlmodel", serialize_model(changed));
  const std::string meaning = inline_bytes(mil::read_package(path));
  repackage(path, path);
  EXPECT_EQ(blobs(), before);  // written again, once
  EXPECT_TRUE(inline_bytes(mil::read_package(path)) == meaning);
  EXPECT_EQ(read_file(path / "Data/huggingface/tokenizer.json"), "{}");
  EXPECT_EQ(read_file(path / "Data/huggingface/more/file.txt"), "text");
  EXPECT_EQ(read_file(path / "Data/notes.txt"), "note");
}

TEST(Repackage, OnlyPackagesAreReplaced) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  TempDir scratch;
  const fs::path source = packages / "add_model.mlmodelc";
  EXPECT_ERROR(repackage(source, scratch / "m.mlmodelc"), ErrorCode::InvalidArgument,
               "m.mlmodelc: the output has to end in .mlpackage");
  mil::put_file(scratch / "m.mlpackage/file", "mine");
  EXPECT_ERROR(repackage(source, scratch / "m.mlpackage"), ErrorCode::InvalidArgument,
               "m.mlpackage: exists and is not a package, so it is not replaced");
  EXPECT_EQ(read_file(scratch / "m.mlpackage/file"), "mine");
  mil::put_file(scratch / "new.mlmodel", std::string("\x08\x02\xfa\x7c\x00", 5));
  EXPECT_ERROR(repackage(scratch / "new.mlmodel", scratch / "n.mlpackage"), ErrorCode::Unsupported,
               "new.mlmodel: models of kind 1999 are not supported (specification version 2)");
  EXPECT_FALSE(fs::exists(scratch / "n.mlpackage"));
}

}  // namespace
}  // namespace pippin::app
