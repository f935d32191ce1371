#include "pippin/app/convert/compile.h"

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText =
    "program(1.3) { func main<ios18>(tensor<fp32, [2]> x) { tensor<fp32, [2]> y = relu(x = x); } "
    "-> (y); }";

TEST(Compile, OnlyCompiledModelsAreReplaced) {
  const TempDir scratch;
  const fs::path source = scratch / "a.mlmodelc", output = scratch / "b.mlmodelc";
  mil::put_file(source / "model.mil", kText);
  EXPECT_ERROR(compile_model(source, scratch / "b.mlpackage"), ErrorCode::InvalidArgument,
               "b.mlpackage: the output has to end in .mlmodelc");
  mil::put_file(output / "file", "mine");
  EXPECT_ERROR(compile_model(source, output), ErrorCode::InvalidArgument,
               "b.mlmodelc: exists and is not a compiled model, so it is not replaced");
  EXPECT_EQ(read_file(output / "file"), "mine");
  fs::remove(output / "file");
  const PackageOutput result = compile_model(source, output);
  EXPECT_EQ(result.path, output);
  EXPECT_EQ(result.bytes, folder_bytes(output));
  const std::string bytes = serialize_model(mil::read_package(source));
  EXPECT_EQ(serialize_model(mil::read_package(output)), bytes);
  compile_model(source, output);
  compile_model(source, source);
  EXPECT_TRUE(fs::exists(source / "coremldata.bin"));
  EXPECT_EQ(serialize_model(mil::read_package(source)), bytes);
  EXPECT_ERROR(compile_model(scratch / "none.mlpackage", output), ErrorCode::NotFound,
               "none.mlpackage");
  EXPECT_EQ(serialize_model(mil::read_package(output)), bytes);
}

}  // namespace
}  // namespace pippin::app
