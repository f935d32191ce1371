#include "pippin/mil/package/summary.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

// The process's peak memory.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

Model example() {
  Model model = describe_program(parse_text(
      "program(1.3) { func main<ios18>(tensor<fp16, [1, ?]> x, state<tensor<fp16, [2, 64]>> cache) "
      "{ tensor<fp16, [64]> w = const()[val = tensor<fp16, [64]>(BLOBFILE(path = "
      "string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))];"
      "tensor<fp16, [1, ?]> y = relu(x = x); tensor<fp16, [1, ?]> z = relu(x = y); } -> (z); }",
      "test"));
  model.path = "folder/example.mlpackage/";
  model.metadata.author = "someone";
  model.metadata.user_defined["key"] = "two\nlines";
  model.functions[0].inputs[0].description = "what goes in";
  return model;
}

TEST(Summary, TextIsAligned) {
  EXPECT_EQ(summary_text(example()),
            "example.mlpackage: ML Program, specification version 9, 128 B of weights\n"
            "\n"
            "function main (CoreML8)\n"
            "  inputs\n"
            "    x  fp16  [1, 0..]    what goes in\n"
            "  states\n"
            "    cache  fp16  [2, 64]\n"
            "  outputs\n"
            "    z  fp16  [1, 0..]\n"
            "  operations (3)\n"
            "    relu 2, const 1\n"
            "\n"
            "weights\n"
            "  fp16  128 B  1 tensor  64 elements\n"
            "\n"
            "metadata\n"
            "  author  someone\n"
            "  key     two lines\n");
}

TEST(Summary, JsonHasTheSame) {
  const Json json = Json::parse(summary_json(example()), "summary");
  const Json function = json.at("functions").at(size_t{0});
  EXPECT_EQ(function.get_string("opset"), "CoreML8");
  EXPECT_EQ(function.at("operations").get_int("relu"), 2);
  EXPECT_EQ(function.at("states").at(size_t{0}).get_string("name"), "cache");
  EXPECT_TRUE(
      function.at("inputs").at(size_t{0}).at("ranges").at(size_t{1}).at(size_t{1}).is_null());
  EXPECT_EQ(json.at("weights").get_int("bytes"), 128);
  EXPECT_EQ(json.at("metadata").at("user_defined").get_string("key"), "two\nlines");
}

TEST(Summary, PackagesOfOtherWritersHaveOne) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const Model llama = read_package(coremltools / "llama_multifunction.mlpackage");
  EXPECT_NE(summary_text(llama).find(", default)"), std::string::npos);
  Json::parse(summary_json(llama), "summary");
  const Model graph = read_package(packages / "graph-only/kokoro_duration.mlpackage");
  EXPECT_NE(summary_text(graph).find("absent: @model_path/weights/weight.bin"), std::string::npos);
}

// 4 GB of (sparse) weights: only the records are read.
TEST(Summary, LargePackagesAreNotRead) {
  TempDir folder;
  const fs::path path = folder / "large.mlpackage";
  class Zeros : public TensorSource {
   public:
    uint64_t size() const override { return 20; }
    void read(uint64_t, MutableByteSpan out) const override {
      std::fill(out.begin(), out.end(), std::byte{});
    }
  };
  Model model = describe_program(
      parse_text("program(1.3) { func main<ios18>(tensor<fp16, [1]> x) { } -> (x); }", "test"));
  const auto type = ValueType::tensor(DataType::Float16, {10});
  Operation& weight = model.program.function("main").block().append("const");
  weight.attributes()["val"] = Value::of_source(type, std::make_shared<Zeros>());
  weight.add_output("w", type);
  write_package(model, path);
  // Makes the blob 4 GB long by changing the record's size, the file's length and the constant's
  // shape.
  const fs::path weights = path / "Data/com.apple.CoreML/weights/weight.bin";
  const fs::path program = path / "Data/com.apple.CoreML/model.mlmodel";
  constexpr uint64_t kSize = uint64_t{4} << 30;
  fs::resize_file(weights, 128 + kSize);
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(64 + 8)
      .write(reinterpret_cast<const char*>(&kSize), sizeof(kSize));
  const auto large = ValueType::tensor(DataType::Float16, {static_cast<int64_t>(kSize / 2)});
  weight.output()->type = large;
  Value& value = weight.attributes()["val"];
  value.type = large;
  value.source = nullptr;
  value.blob = BlobReference{"@model_path/weights/weight.bin", 64};
  std::ofstream(program, std::ios::binary) << serialize_model(model);

  const int64_t before = peak_memory();
  const std::string text = summary_text(read_package(path));
  EXPECT_NE(text.find("4.3 GB of weights"), std::string::npos) << text;
  EXPECT_LT(peak_memory() - before, int64_t{50} << 20);
}

}  // namespace
}  // namespace pippin::mil
