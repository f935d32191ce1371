// Compiled models written in the form of Core ML's compiler: reading gives back the model.
#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "Data/com.apple.CoreML/weights";

std::string inline_bytes(const Model& model) {
  return serialize_model(model, [](const Value&) { return std::nullopt; });
}

Model model_of(const std::string& text) {
  return describe_program(parse_text("program(1.3) { " + text + " }", "text"));
}

// y = x + 16 constants.
Model small_model() {
  return model_of(R"(func main<ios18>(tensor<fp32, [16]> x) {
    tensor<fp32, [16]> w = const()[val = tensor<fp32, [16]>([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])];
    tensor<fp32, [16]> y = add(x = x, y = w);
  } -> (y);)");
}

// Writes the model and reads it again.
Model compiled(const Model& model) {
  const TempDir scratch;
  write_compiled(model, scratch / "m.mlmodelc");
  return read_package(scratch / "m.mlmodelc");
}

void expect_same_file(const fs::path& a, const fs::path& b) {
  EXPECT_TRUE(fs::equivalent(a, b)) << a << " " << b;
}

TEST(WriteCompiled, RealOnesAreSpelledAsTheyAre) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const TempDir scratch;
  for (const char* name : {"add_model", "silero_vad"}) {
    SCOPED_TRACE(name);
    const fs::path source = packages / fmt::format("{}.mlmodelc", name);
    const fs::path path = scratch / fmt::format("{}.mlmodelc", name);
    const Model model = read_package(source);
    write_compiled(model, path);
    EXPECT_TRUE(serialize_model(read_package(path)) == serialize_model(model));
    std::string text = read_file(source / "model.mil");
    if (text.back() != '\n') text += '\n';
    EXPECT_EQ(read_file(path / "model.mil"), text);
    // Except for the order of the metadata, which is unspecified.
    std::string bytes = read_file(path / "coremldata.bin");
    std::string expected = read_file(source / "coremldata.bin");
    const size_t ordered = std::min(expected.find("com.github"), expected.size()) - 8;
    for (std::string* one : {&bytes, &expected}) {
      std::sort(one->begin() + static_cast<ptrdiff_t>(ordered), one->end());
    }
    EXPECT_EQ(bytes, expected);
    // Except for the digest of the model.
    const std::string analytics = read_file(path / "analytics/coremldata.bin");
    const std::string original = read_file(source / "analytics/coremldata.bin");
    const size_t digest = original.find("modelHash") + 9 + 8;
    ASSERT_EQ(analytics.size(), original.size());
    EXPECT_EQ(analytics.substr(0, digest), original.substr(0, digest));
    EXPECT_EQ(analytics.substr(digest + 43), original.substr(digest + 43));
    const Json mine = Json::load(path / "metadata.json").at(size_t{0});
    const Json theirs = Json::load(source / "metadata.json").at(size_t{0});
    for (const std::string& key : theirs.keys()) {
      if (key == "generatedClassName") continue;
      ASSERT_TRUE(mine.contains(key)) << key;
      if (!key.ends_with("Schema") && !theirs.at(key).is_object()) {
        EXPECT_EQ(mine.at(key).dump(), theirs.at(key).dump()) << key;
        continue;
      }
      const auto objects = [&](const Json& json) {
        const Json value = json.at(key);
        return value.is_object() ? std::vector<Json>{value} : value.elements();
      };
      const auto ours = objects(mine), real = objects(theirs);
      ASSERT_EQ(ours.size(), real.size()) << key;
      for (size_t i = 0; i < real.size(); ++i) {
        EXPECT_EQ(ours[i].size(), real[i].size());
        for (const auto& [member, value] : real[i].members()) {
          EXPECT_EQ(ours[i].at(member).dump(), value.dump()) << key << " " << member;
        }
      }
    }
    EXPECT_EQ(mine.size(), theirs.size());
  }
}

TEST(WriteCompiled, PackagesOfOthers) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const TempDir scratch;
  const auto check = [&](const fs::path& source) {
    SCOPED_TRACE(source);
    const fs::path path = scratch / "m.mlmodelc";
    const Model model = read_package(source);
    write_compiled(model, path);
    // Weights keep their places; graphs without weights stay without.
    EXPECT_TRUE(serialize_model(read_package(path)) == serialize_model(model));
    EXPECT_EQ(fs::exists(path / "weights"), fs::exists(source / kWeights));
  };
  check(packages / "basic-pitch-nmp.mlpackage");
  for (const auto& entry : fs::directory_iterator(packages / "graph-only")) check(entry.path());
}

TEST(WriteCompiled, WeightsAreLinked) {
  const TempDir scratch;
  const fs::path package = scratch / "m.mlpackage", path = scratch / "m.mlmodelc";
  write_package(small_model(), package);
  write_compiled(read_package(package), path);
  expect_same_file(path / "weights/weight.bin", package / kWeights / "weight.bin");
  EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(small_model()));
  // In the Hugging Face cache, a package's file is a link.
  fs::rename(package / kWeights / "weight.bin", package / "blob");
  fs::create_symlink(package / "blob", package / kWeights / "weight.bin");
  write_compiled(read_package(package), path);
  EXPECT_FALSE(fs::is_symlink(path / "weights/weight.bin"));
  expect_same_file(path / "weights/weight.bin", package / "blob");
  // Overwrites itself.
  write_compiled(read_package(path), path);
  expect_same_file(path / "weights/weight.bin", package / "blob");
  // The package may be removed.
  fs::remove_all(package);
  EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(small_model()));
}

// An open model keeps its weights, even if their file is removed.
TEST(WriteCompiled, WeightsOfPackagesThatWentAreWritten) {
  const TempDir scratch;
  const fs::path package = scratch / "m.mlpackage", path = scratch / "m.mlmodelc";
  write_package(small_model(), package);
  const Model model = read_package(package);
  const auto expect_written = [&] {
    write_compiled(model, path);
    EXPECT_EQ(fs::hard_link_count(path / "weights/weight.bin"), 1u);
    EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(small_model()));
  };
  fs::rename(package, scratch / "old");
  expect_written();
  Model other = small_model();
  Value& weight =
      other.program.function("main").block().operations()[0]->attributes().find("val")->second;
  std::fill(weight.bytes.begin(), weight.bytes.end(), std::byte{0});
  write_package(other, package);
  expect_written();
}

TEST(WriteCompiled, WeightsWithoutAFileAreWritten) {
  const TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  // A few stay in the text.
  write_compiled(small_model(), path);
  EXPECT_FALSE(fs::exists(path / "weights"));
  EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(small_model()));
  // Many do not.
  Model model = small_model();
  auto& constant = *model.program.function("main").block().operations()[0];
  const std::vector<double> numbers(1 << 20, 0.5);
  const auto type = ValueType::tensor(DataType::Float32, {1 << 20});
  constant.attributes()["val"] = Value::of_floats(DataType::Float32, numbers, type.dims);
  constant.output()->type = type;
  Model other = model_of("func main<ios18>(tensor<fp32, [1048576]> x) {} -> (x);");
  model.functions = other.functions;
  model.functions[0].outputs[0].name = "y";
  model.program.function("main").inputs[0]->type = type;
  model.program.function("main").block().operations()[1]->output()->type = type;
  uint64_t done = 0;
  write_compiled(model, path, {[&](uint64_t now, uint64_t) { done = now; }});
  EXPECT_EQ(done, 4u << 20);
  EXPECT_LT(fs::file_size(path / "model.mil"), 2000u);
  EXPECT_TRUE(inline_bytes(read_package(path)) == inline_bytes(model));
  CancelToken token;
  const CancelScope scope(token);
  EXPECT_THROW(
      write_compiled(model, scratch / "n.mlmodelc", {[&](uint64_t, uint64_t) { token.request(); }}),
      Error);
  EXPECT_FALSE(fs::exists(scratch / "n.mlmodelc"));
}

TEST(WriteCompiled, FunctionsAndFeatures) {
  Model model = model_of(R"(
    func first<ios18>(tensor<fp32, [?, 2]> x, state<tensor<fp16, [4]>> s) {
      tensor<fp16, [4]> old = read_state(input = s);
      write_state(data = old, input = s);
      tensor<fp32, [?, 2]> y = relu(x = x);
    } -> (y);
    func second<ios16>(tensor<fp32, [1, 3, 4, 8]> picture, tensor<fp32, [?]> z) {
      tensor<fp32, [?]> y = relu(x = z);
      tensor<fp32, [1, 3, 4, 8]> p = relu(x = picture);
    } -> (p, y);)");
  ASSERT_TRUE(model.multifunction);
  model.default_function = "second";
  model.metadata = {"short", "1.2", "a \"b\"\n", "Ünï", {{"key", "value"}, {"none", ""}}};
  Feature& x = model.functions[0].inputs[0];
  x.description = "rows";
  x.ranges = {{1, -1}, {2, 2}};
  x.shape = {4, 2};
  Feature& picture = model.functions[1].inputs[0];
  picture.kind = Feature::Kind::Image;
  picture.image = {{8, 4}, ColorSpace::Bgr, {{8, 4}, {16, 8}}, {}, {}};
  picture.shape.clear();
  Feature& z = model.functions[1].inputs[1];
  z.optional = true;
  z.ranges.clear();
  z.shape = {2};
  z.enumerated_shapes = {{2}, {5}};
  z.default_value = 0.5f;
  const std::string bytes = serialize_model(model);
  const TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  write_compiled(model, path);
  EXPECT_EQ(serialize_model(read_package(path)), bytes);
  // metadata.json alone gives the same, except for default values.
  fs::remove(path / "coremldata.bin");
  model.functions[1].inputs[1].default_value = {};
  EXPECT_EQ(serialize_model(read_package(path)), serialize_model(model));
  picture.image = {{8, 4}, ColorSpace::GrayscaleFloat16, {}, SizeRange{1, 8}, SizeRange{4, -1}};
  write_compiled(model, path);
  fs::remove(path / "coremldata.bin");
  EXPECT_EQ(read_package(path).functions[1].inputs[0].image, picture.image);
  const Json json = Json::load(path / "metadata.json").at(size_t{0});
  const Json first = json.at("functions").at(size_t{0});
  EXPECT_EQ(first.at("inputSchema").at(size_t{0}).get_string("formattedType"),
            "MultiArray (Float32 4 × 2)");
  EXPECT_EQ(first.at("inputSchema").at(size_t{0}).get_string("shapeFlexibility"), "1... × 2");
  EXPECT_EQ(first.at("stateSchema").at(size_t{0}).get_string("formattedType"), "State (Float16 4)");
  EXPECT_EQ(first.get_string("computePrecision"), "Mixed (Float16, Float32)");
  EXPECT_EQ(first.at("mlProgramOperationTypeHistogram").get_int("Ios18.readState"), 1);
}

TEST(WriteCompiled, OtherKindsAndPipelines) {
  const std::vector<wire::Feature> numbers = {{"a", wire::double_type()},
                                              {"b", wire::int64_type()}};
  const std::vector<wire::Feature> boxes = {{"scores", wire::array_type({6, 2})},
                                            {"boxes", wire::array_type({6, 4})}};
  const std::vector<wire::Feature> kept = {{"confidence", wire::rows_type(0, -1, 2)},
                                           {"coordinates", wire::rows_type(0, -1, 4)}};
  const std::string suppression = wire::model(
      wire::description(boxes, kept), kNonMaximumSuppressionField, wire::suppression_body({}));
  auto inputs = boxes;
  inputs.push_back({"iou", wire::double_type()});
  inputs.push_back({"conf", wire::double_type()});
  const std::string detector =
      wire::model(wire::description(inputs, kept), kPipelineField, wire::pipeline({suppression}));
  for (const std::string& bytes :
       {wire::model(wire::description(numbers, {{"y", wire::double_type()}}, "y"),
                    kGlmRegressorField, wire::linear_model({{1, 2}}, {3})),
        wire::model(wire::description(numbers, {{"label", wire::int64_type()}}, "label"),
                    kGlmClassifierField,
                    wire::linear_model({{1, 2}}, {3}) + wire::int64_labels({-3, 7})),
        suppression, detector,
        wire::model(wire::description(inputs, kept), kPipelineField, wire::pipeline({detector}))}) {
    Model model = parse_model(as_byte_span(bytes));
    model.metadata.user_defined["key"] = "value";
    const Model again = compiled(model);
    EXPECT_EQ(again.kind, model.kind);
    EXPECT_TRUE(serialize_model(again) == serialize_model(model));
    ASSERT_EQ(again.functions[0].inputs.size(), model.functions[0].inputs.size());
    for (size_t i = 0; i < model.functions[0].inputs.size(); ++i) {
      EXPECT_EQ(again.functions[0].inputs[i].optional, model.functions[0].inputs[i].optional);
      EXPECT_EQ(again.functions[0].inputs[i].default_value,
                model.functions[0].inputs[i].default_value);
    }
  }
  const TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  write_compiled(parse_model(as_byte_span(suppression)), path);
  // In the form of Core ML's compiler: a head of 72 bytes, and the message.
  const std::string file = read_file(path / "coremldata.bin");
  EXPECT_EQ(file.substr(0, 72), little_endian(kNonMaximumSuppressionField, 4) +
                                    little_endian(1, 4) + std::string(20, '\0') + counted("spec") +
                                    little_endian(5, 4) + std::string(28, '\0'));
  EXPECT_EQ(file.substr(72), serialize_model(parse_model(as_byte_span(suppression))));
  EXPECT_FALSE(fs::exists(path / "model.mlmodel"));
  write_compiled(parse_model(as_byte_span(detector)), scratch / "d.mlmodelc");
  EXPECT_NE(read_file(scratch / "d.mlmodelc/coremldata.bin").find("generic.model0v1.0.0spec"),
            std::string::npos);
}

// Models written by other compilers, whose heads differ in length.
TEST(WriteCompiled, WholeModelsAreReadAfterAnyHead) {
  const std::string regressor = wire::model(
      wire::description({{"a", wire::double_type()}}, {{"y", wire::double_type()}}, "y"),
      kGlmRegressorField, wire::linear_model({{2}}, {3}));
  const TempDir scratch;
  const fs::path path = scratch / "m.mlmodelc";
  const auto put = [&](const std::string& after_version, const std::string& message,
                       uint32_t kind = kGlmRegressorField) {
    put_file(path / "coremldata.bin", little_endian(kind, 4) + little_endian(1, 4) +
                                          std::string(20, '\0') + counted("spec") +
                                          little_endian(8, 4) + after_version + message);
  };
  const std::string wanted = serialize_model(parse_model(as_byte_span(regressor)));
  for (const std::string& after : {std::string(28, '\0'), std::string(32, '\0'),
                                   std::string(24, '\0') + "\x08\0\0\0x" + "123"}) {
    put(after, regressor);
    EXPECT_EQ(serialize_model(read_package(path)), wanted) << after.size();
  }
  put(std::string(28, '\0'), regressor.substr(0, regressor.size() - 3));
  EXPECT_ERROR(read_package(path), ErrorCode::InvalidFile, "coremldata.bin: the protobuf message");
  put(std::string(28, '\0'), "");
  EXPECT_ERROR(read_package(path), ErrorCode::InvalidFile, "no glmRegressor after its head");
  put(std::string(28, '\0'), regressor, kGlmClassifierField);
  EXPECT_ERROR(read_package(path), ErrorCode::InvalidFile,
               "the model in it is a GLM regressor, coremldata.bin says glmClassifier");
  put(std::string(28, '\0'), regressor, 402);
  EXPECT_ERROR(read_package(path), ErrorCode::InvalidFile,
               "coremldata.bin says treeEnsembleClassifier");
  // As written by earlier versions of Pippin.
  put_file(path / "coremldata.bin", coreml_data(kGlmRegressorField, 1, ""));
  put_file(path / "model.mlmodel", regressor);
  EXPECT_EQ(serialize_model(read_package(path)), wanted);
  put_file(path / "coremldata.bin", coreml_data(kGlmClassifierField, 1, ""));
  EXPECT_ERROR(read_package(path), ErrorCode::InvalidFile,
               "model.mlmodel is a GLM regressor, coremldata.bin says glmClassifier");
}

TEST(WriteCompiled, NamesAndPlaces) {
  const TempDir scratch;
  EXPECT_ERROR(write_compiled(small_model(), scratch / "m.mlpackage"), ErrorCode::InvalidArgument,
               "a compiled model's name must end in .mlmodelc");
  EXPECT_ERROR(write_compiled(small_model(), scratch.path() / "none" / "m.mlmodelc"),
               ErrorCode::NotFound, "none");
  EXPECT_TRUE(fs::is_empty(scratch.path()));
  write_compiled(small_model(), scratch / "my model-2.mlmodelc/");
  put_file(scratch / "my model-2.mlmodelc/old", "");
  write_compiled(small_model(), scratch / "my model-2.mlmodelc");
  EXPECT_FALSE(fs::exists(scratch / "my model-2.mlmodelc/old"));
  EXPECT_EQ(Json::load(scratch / "my model-2.mlmodelc/metadata.json")
                .at(size_t{0})
                .get_string("generatedClassName"),
            "my_model_2");
}

}  // namespace
}  // namespace pippin::mil
