// Compiled packages: real ones, and packages converted to their form.
#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

std::string read_error(const fs::path& path) {
  return thrown_fault([&] { read_package(path); });
}

std::string inline_bytes(const Model& model) {
  return serialize_model(model, [](const Value&) { return std::nullopt; });
}

// The debug log of reading the package.
std::string debug_log_of(const fs::path& path) {
  std::string lines;
  const LogScope log(LogLevel::Debug,
                     [&](LogLevel, std::string_view line) { lines += std::string(line) + "\n"; });
  read_package(path);
  return lines;
}

TEST(Compiled, RealPackagesAreRead) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const Model silero = read_package(packages / "silero_vad.mlmodelc");
  EXPECT_EQ(silero.kind, ModelKind::MlProgram);
  EXPECT_EQ(silero.specification_version, 6);
  EXPECT_FALSE(silero.multifunction);
  EXPECT_EQ(silero.metadata.version, "6.0.0");
  EXPECT_EQ(silero.metadata.user_defined.at("com.github.apple.coremltools.version"), "9.0b1");
  const FunctionDescription& main = silero.description("main");
  ASSERT_EQ(main.inputs.size(), 3u);
  EXPECT_EQ(main.inputs[0].name, "audio_input");
  EXPECT_EQ(main.inputs[0].data_type, DataType::Float32);
  EXPECT_EQ(main.inputs[0].shape, (std::vector<int64_t>{1, 576}));
  int weights = 0;
  for_each_operation(silero.program.function("main").block(), [&](const Operation& operation) {
    const Value* value = operation.constant_value();
    if (value == nullptr || !value->blob) return;
    ++weights;
    EXPECT_EQ(value->source->view().size(),
              packed_size(value->type.data_type, value->type.num_elements()));
  });
  EXPECT_EQ(weights, 13);
  EXPECT_EQ(read_package(packages / "add_model.mlmodelc").specification_version, 7);
}

// All three places give the same interface.
TEST(Compiled, TheInterfaceComesFromWhatIsThere) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  for (const char* name : {"silero_vad.mlmodelc", "add_model.mlmodelc"}) {
    TempDir scratch;
    const fs::path path = scratch / name;
    fs::copy(packages / name, path, fs::copy_options::recursive);
    const Model full = read_package(path);
    EXPECT_NE(debug_log_of(path).find("interface from coremldata.bin"), std::string::npos);
    fs::remove(path / "coremldata.bin");
    EXPECT_NE(debug_log_of(path).find("interface from metadata.json"), std::string::npos);
    EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(full));
    put_file(path / "metadata.json", "[{\"specificationVersion\": 7}]");  // without inputs
    EXPECT_NE(debug_log_of(path).find("metadata.json does not describe the model"),
              std::string::npos);
    fs::remove(path / "metadata.json");
    EXPECT_NE(debug_log_of(path).find("interface from the program's types"), std::string::npos);
    const Model bare = read_package(path);
    EXPECT_EQ(bare.specification_version, full.specification_version);
    EXPECT_EQ(bare.description("main").inputs.size(), full.description("main").inputs.size());
    for (const Feature& input : full.description("main").inputs) {
      const auto& inputs = bare.description("main").inputs;
      const auto it = std::find_if(inputs.begin(), inputs.end(),
                                   [&](const Feature& f) { return f.name == input.name; });
      ASSERT_NE(it, inputs.end());
      EXPECT_EQ(it->shape, input.shape);
      EXPECT_EQ(it->data_type, input.data_type);
    }
  }
}

// Every package by coremltools, in compiled form, including multifunction ones.
TEST(Compiled, PackagesKeepTheirMeaning) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  TempDir scratch;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(coremltools)) {
    if (entry.path().extension() != ".mlpackage") continue;
    SCOPED_TRACE(entry.path());
    const fs::path compiled = scratch / entry.path().stem().concat(".mlmodelc").string();
    const Model model = read_package(entry.path());
    write_compiled(model, compiled);
    ASSERT_TRUE(inline_bytes(read_package(compiled)) == inline_bytes(model));
    ++count;
  }
  EXPECT_GE(count, 60);
}

// Written by Core ML's compiler for flexible models.
constexpr std::string_view kFunctions = R"(
    func first<ios18>(tensor<fp32, [?, 2]> x) [FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>(((
"DefaultShapes", {{"x", [4, 2]}}), ("RangeDims", {{"x", [[1, 8], [2, 2]]}})))] {
            tensor<fp32, [?, 2]> y = relu(x = x);
        } -> (y);
    func second<ios18>(tensor<fp32, [?, 2]> x) [FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, dict<string, tensor<int32, [?]>>>>>(((
"DefaultShapes", {{"x", [2, 2]}}), ("EnumeratedShapes", {{"543d0f94", {{"x", [1, 2]}}}, {"697b758f", {{"x", [2, 2]}}}})))] {
            tensor<fp32, [?, 2]> y = relu(x = x);
        } -> (y);
})";

TEST(Compiled, FlexibleShapesAreReadFromTheProgram) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  put_file(path / "model.mil", "program(1.3) {" + std::string(kFunctions));
  Model model = read_package(path);
  EXPECT_TRUE(model.multifunction);
  EXPECT_EQ(model.specification_version, 9);
  const Feature& ranged = model.description("first").inputs.at(0);
  EXPECT_EQ(ranged.shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(ranged.ranges, (std::vector<SizeRange>{{1, 8}, {2, 2}}));
  const Feature& enumerated = model.description("second").inputs.at(0);
  EXPECT_EQ(enumerated.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE(enumerated.ranges.empty());
  EXPECT_EQ(enumerated.enumerated_shapes, (std::vector<std::vector<int64_t>>{{1, 2}, {2, 2}}));
  EXPECT_EQ(model.program.function("first").attributes.size(), 1u);
  drop_flexible_shapes(model.program);
  EXPECT_EQ(model.program.function("first").attributes.size(), 0u);
}

TEST(Compiled, OddFlexibleShapesSayNothing) {
  for (const char* value :
       {"int32(1)", "tuple<int32>((1))", "tuple<tuple<string, int32>>(((\"DefaultShapes\", 1)))",
        "tuple<tuple<string, dict<string, tensor<int32, [?]>>>>(((\"DefaultShapes\", {{\"x\", "
        "[-1, 2]}})))",
        "tuple<tuple<string, dict<string, tensor<int32, [?]>>>>(((\"DefaultShapes\", {{\"x\", "
        "[1]}})))",
        "tuple<tuple<string, dict<string, tensor<fp32, [?]>>>>(((\"RangeDims\", {{\"x\", "
        "[1]}})))"}) {
    const Model model = describe_program(
        parse_text(fmt::format("program(1.3) {{ func main<ios18>(tensor<fp32, [?, 2]> x) "
                               "[FlexibleShapeInformation = {}] {{ }} -> (x); }}",
                               value),
                   "text"));
    const Feature& input = model.description("main").inputs.at(0);
    EXPECT_EQ(input.ranges, (std::vector<SizeRange>{{0, -1}, {2, 2}})) << value;
    EXPECT_TRUE(input.shape.empty()) << value;
  }
}

TEST(Compiled, FlexibleShapesAreReadFromMetadata) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  put_file(path / "model.mil", "program(1.3) {" + std::string(kFunctions));
  const std::string output =
      R"("outputSchema": [{"name": "y", "type": "MultiArray", "dataType": "Float32", "shape": "[]"}])";
  put_file(path / "metadata.json", R"([{
    "specificationVersion": 9, "defaultFunctionName": "second", "version": "1.2",
    "userDefinedMetadata": {"key": "value"},
    "functions": [
      {"name": "first", )" + output + R"(, "stateSchema": [],
       "inputSchema": [{"name": "x", "type": "MultiArray", "dataType": "Float32",
         "hasShapeFlexibility": "1", "isOptional": "0", "shape": "[4, 2]", "shortDescription": "in",
         "shapeFlexibility": "1... × 2", "shapeRange": "[[1, -1], [2, 2]]"}]},
      {"name": "second", )" + output + R"(,
       "inputSchema": [{"name": "x", "type": "MultiArray", "dataType": "Float32",
         "isOptional": "1", "shape": "[2, 2]", "enumeratedShapes": "[[1, 2], [2, 2]]"}]}]}])");
  const Model model = read_package(path);
  EXPECT_EQ(model.default_function, "second");
  EXPECT_EQ(model.metadata.version, "1.2");
  EXPECT_EQ(model.metadata.user_defined.at("key"), "value");
  const Feature& ranged = model.description("first").inputs.at(0);
  EXPECT_EQ(ranged.description, "in");
  EXPECT_EQ(ranged.ranges, (std::vector<SizeRange>{{1, -1}, {2, 2}}));
  const Feature& enumerated = model.description("second").inputs.at(0);
  EXPECT_TRUE(enumerated.optional);
  EXPECT_EQ(enumerated.enumerated_shapes, (std::vector<std::vector<int64_t>>{{1, 2}, {2, 2}}));
}

TEST(Compiled, OtherKindsAreNamed) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  put_file(path / "coremldata.bin", coreml_data(403, 4, ""));
  EXPECT_EQ(read_error(path),
            "not found: m.mlmodelc: a compiled network has coremldata.bin, model.espresso.net, "
            "model.espresso.shape and model.espresso.weights; one of them is absent");
  for (const char* part : {"shape", "weights"}) {
    put_file(path / (std::string("model.espresso.") + part), "{}");
  }
  put_file(path / "model.espresso.net", std::string("pbze\0\0\0\0", 8));
  EXPECT_EQ(read_error(path),
            "unsupported: m.mlmodelc: model.espresso.net is an archive of Apple's kind 'pbze', not "
            "JSON");
  fs::remove(path / "coremldata.bin");
  put_file(
      path / "metadata.json",
      R"([{"specificationVersion": 5, "modelType": {"name": "MLModelType_treeEnsembleRegressor"}}])");
  put_file(path / "model.mil", "");
  const std::string wanted = "coremldata.bin: no treeEnsembleRegressor after its head";
  EXPECT_NE(read_error(path).find(wanted), std::string::npos) << read_error(path);
  put_file(path / "coremldata.bin", coreml_data(502, 7, ""));
  fs::remove(path / "model.mil");
  EXPECT_NE(read_error(path).find("no model.mil in it"), std::string::npos);
  // A truncated file or one of an unknown kind is ignored if another file has the interface.
  for (const std::string& odd : {std::string("\x01"), coreml_data(7, 4, "")}) {
    put_file(path / "coremldata.bin", odd);
    EXPECT_NE(read_error(path).find("m.mlmodelc: coremldata.bin: "), std::string::npos);
  }
  put_file(path / "coremldata.bin", coreml_data(300, 4, ""));
  EXPECT_EQ(read_error(path),
            "invalid file: m.mlmodelc: coremldata.bin: no glmRegressor after its head");
  put_file(path / "coremldata.bin", coreml_data(7, 4, ""));
  fs::remove(path / "metadata.json");
  EXPECT_NE(read_error(path).find("models of kind 7 are not supported (specification version 4)"),
            std::string::npos)
      << read_error(path);
  put_file(path / "coremldata.bin", "\x01");
  EXPECT_NE(read_error(path).find("not a compiled model"), std::string::npos);
}

TEST(Compiled, PathsMayNotLeadOut) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  put_file(scratch / "outside.bin", "");
  const auto error = [&](const std::string& blob) {
    put_file(path / "model.mil",
             "program(1.3) { func main<ios18>(tensor<fp16, [16]> x) { tensor<fp16, [16]> w = "
             "const()[val = tensor<fp16, [16]>(BLOBFILE(path = string(\"@model_path/" +
                 blob + "\"), offset = uint64(64)))]; } -> (w); }");
    return read_error(path);
  };
  EXPECT_NE(error("../outside.bin").find("leads out of the package"), std::string::npos);
  EXPECT_NE(error("a/../../outside.bin").find("leads out of the package"), std::string::npos);
  EXPECT_NE(error("/etc/passwd").find("leads out of the package"), std::string::npos);
  fs::create_symlink(scratch / "outside.bin", path / "link.bin");
  EXPECT_NE(error("link.bin").find("is a link out of the package"), std::string::npos);
  EXPECT_EQ(error("weights/absent.bin"), "no error");
}

}  // namespace
}  // namespace pippin::mil
