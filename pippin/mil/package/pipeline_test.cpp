// Pipelines of ML Programs: packages, compiled models, errors.
#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/blob_file.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "Data/com.apple.CoreML/weights";

std::string inline_bytes(const Model& model) {
  return serialize_model(model, [](const Value&) { return std::nullopt; });
}

// `output` = `input` + a constant: `addend`, 16 times.
Model stage_of(const std::string& input, const std::string& output, int addend) {
  std::string elements = std::to_string(addend);
  for (int i = 1; i < 16; ++i) elements += ", " + std::to_string(addend);
  return describe_program(parse_text(
      fmt::format(
          "program(1.3) {{ func main<ios18>(tensor<fp32, [16]> {0}) {{ tensor<fp32, [16]> w "
          "= const()[val = tensor<fp32, [16]>([{2}])]; tensor<fp32, [16]> {1} = add(x = "
          "{0}, y = w); }} -> ({1}); }}",
          input, output, elements),
      "stage"));
}

Model pipeline_of(std::vector<std::pair<std::string, Model>> stages) {
  Model model;
  model.kind = ModelKind::Pipeline;
  FunctionDescription description;
  description.name = "main";
  description.inputs = stages.front().second.functions[0].inputs;
  description.outputs = stages.back().second.functions[0].outputs;
  model.functions.push_back(std::move(description));
  for (auto& [name, stage] : stages) model.stages.push_back({name, std::move(stage)});
  return model;
}

Model two_stages() {
  std::vector<std::pair<std::string, Model>> stages;
  stages.emplace_back("first", stage_of("a", "b", 1));
  stages.emplace_back("second", stage_of("b", "c", 2));
  return pipeline_of(std::move(stages));
}

double first_weight(const Model& stage) {
  return stage.program.function("main").block().operations()[0]->constant_value()->to_doubles()[0];
}

TEST(Pipeline, PackagesHaveAWeightFileForEachProgram) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlpackage";
  write_package(two_stages(), path);
  for (const char* name : {"0-weight.bin", "1-weight.bin"}) {
    EXPECT_EQ(BlobFile::open(path / kWeights / name)->count(), 1u);
  }
  EXPECT_FALSE(fs::exists(path / kWeights / "weight.bin"));
  const Model model = read_package(path);
  EXPECT_EQ(model.kind, ModelKind::Pipeline);
  ASSERT_EQ(model.stages.size(), 2u);
  EXPECT_EQ(model.stages[0].name, "first");
  EXPECT_EQ(model.stages[1].name, "second");
  EXPECT_EQ(first_weight(model.stages[0].model), 1);
  EXPECT_EQ(first_weight(model.stages[1].model), 2);
  EXPECT_EQ(model.description("main").outputs.at(0).name, "c");
  EXPECT_TRUE(inline_bytes(model) == inline_bytes(two_stages()));
  // Writing the model that was read gives the same bytes.
  write_package(model, scratch / "n.mlpackage");
  EXPECT_TRUE(inline_bytes(read_package(scratch / "n.mlpackage")) == inline_bytes(model));
}

TEST(Pipeline, EveryKindAndPipelinesInPipelines) {
  for (const ModelKind kind :
       {ModelKind::Pipeline, ModelKind::PipelineClassifier, ModelKind::PipelineRegressor}) {
    std::vector<std::pair<std::string, Model>> stages;
    stages.emplace_back("inner", two_stages());
    stages.emplace_back("", stage_of("c", "d", 3));
    Model model = pipeline_of(std::move(stages));
    model.kind = kind;
    TempDir scratch;
    write_package(model, scratch / "m.mlpackage");
    EXPECT_TRUE(fs::exists(scratch.path() / "m.mlpackage" / kWeights / "2-weight.bin"));
    const Model again = read_package(scratch / "m.mlpackage");
    EXPECT_EQ(again.kind, kind);
    EXPECT_EQ(again.stages.at(0).model.stages.at(1).name, "second");
    EXPECT_TRUE(inline_bytes(again) == inline_bytes(model));
  }
}

TEST(Pipeline, CompiledOnesAreRead) {
  for (const ModelKind kind :
       {ModelKind::Pipeline, ModelKind::PipelineClassifier, ModelKind::PipelineRegressor}) {
    TempDir scratch;
    Model model = two_stages();
    model.kind = kind;
    write_package(model, scratch / "m.mlpackage");
    model = read_package(scratch / "m.mlpackage");
    const fs::path compiled = scratch / "m.mlmodelc";
    write_compiled(model, compiled);
    const Model again = read_package(compiled);
    EXPECT_EQ(again.kind, kind);
    EXPECT_TRUE(inline_bytes(again) == inline_bytes(model));
    // Without the list of names, the stages are named after their folders.
    fs::remove_all(compiled / "modelNames");
    EXPECT_EQ(read_package(compiled).stages.at(1).name, "model1");
  }
}

// Some writers keep the weights of all stages next to the stages. The programs may refer to them as
// their own weights or by a path.
TEST(Pipeline, CompiledStagesMayShareWeights) {
  TempDir scratch;
  write_package(two_stages(), scratch / "m.mlpackage");
  const fs::path path = scratch / "m.mlmodelc";
  write_compiled(read_package(scratch / "m.mlpackage"), path);
  for (const char* stage : {"model0", "model1"}) fs::remove_all(path / stage / "weights");
  fs::copy(scratch.path() / "m.mlpackage" / kWeights, path / "weights",
           fs::copy_options::recursive);
  EXPECT_EQ(first_weight(read_package(path).stages[1].model), 2);
  for (const char* stage : {"model0", "model1"}) {
    std::string text = read_file(path / stage / "model.mil");
    const std::string name = "@model_path/weights/";
    const size_t place = text.find(name);
    ASSERT_NE(place, text.npos);
    text.replace(place, name.size() + 1, "@model_path/../weights/0");
    put_file(path / stage / "model.mil", text);
  }
  const Model again = read_package(path);
  EXPECT_EQ(first_weight(again.stages[0].model), 1);
  EXPECT_EQ(first_weight(again.stages[1].model), 1);
  // Paths that leave the folder are not kept, but the files that they name are.
  const std::string bytes = inline_bytes(again);
  write_compiled(again, scratch / "n.mlmodelc");
  EXPECT_TRUE(fs::exists(scratch.path() / "n.mlmodelc" / "model1" / "weights" / "weight.bin"));
  EXPECT_TRUE(inline_bytes(read_package(scratch / "n.mlmodelc")) == bytes);
}

TEST(Pipeline, SummariesShowTheStages) {
  const Model model = two_stages();
  const std::string text = summary_text(model);
  EXPECT_NE(text.find("pipeline, specification version 9, 128 B of weights"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\npipeline of 2 stages\n  inputs\n    a  fp32  [16]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nstage 1 'second': function main (CoreML8)\n"), std::string::npos) << text;
  const Json json = Json::parse(summary_json(model), "summary");
  EXPECT_EQ(json.get_string("kind"), "pipeline");
  EXPECT_EQ(json.at("stages").at(size_t{1}).get_string("name"), "second");
  EXPECT_EQ(json.at("weights").get_int("bytes"), 128);
}

TEST(Pipeline, StagesMustFitTogether) {
  TempDir scratch;
  const fs::path path = scratch / "m.mlmodel";
  const auto error = [&](Model model) {
    put_file(path, serialize_model(model));
    return thrown_fault([&] { read_package(path); });
  };
  EXPECT_EQ(error(two_stages()), "no error");
  Model model = two_stages();
  model.functions[0].outputs[0].name = "z";
  EXPECT_EQ(error(std::move(model)),
            "invalid file: m.mlmodel: no stage produces the pipeline's output 'z'");
  model = two_stages();
  std::swap(model.stages[0], model.stages[1]);
  EXPECT_EQ(error(std::move(model)),
            "invalid file: m.mlmodel: stage 0 'second': the input 'b' is neither an input of the "
            "pipeline nor an output of an earlier stage");
  model = two_stages();
  model.stages.clear();
  EXPECT_EQ(error(std::move(model)), "invalid file: m.mlmodel: a pipeline without stages");
}

TEST(Pipeline, StagesOfUnknownKindsAreNamed) {
  // Version 4; a pipeline with a stage 'net' of version 3 and of the unknown kind 1999.
  const std::string stage("\x08\x03\xfa\x7c\x00", 5);
  const std::string pipeline = std::string("\x0a\x05") + stage + std::string("\x12\x03net");
  const std::string model =
      std::string("\x08\x04\xd2\x0c") + static_cast<char>(pipeline.size()) + pipeline;
  EXPECT_EQ(thrown_fault([&] { parse_model(as_byte_span(model)); }),
            "unsupported: stage 0 'net': models of kind 1999 are not supported "
            "(specification version 3)");
}

TEST(Pipeline, NestingIsLimited) {
  Model model = two_stages();
  for (int i = 1; i < kMaxPipelineDepth; ++i) {
    std::vector<std::pair<std::string, Model>> stages;
    stages.emplace_back("", std::move(model));
    model = pipeline_of(std::move(stages));
  }
  const std::string bytes = serialize_model(model);
  EXPECT_EQ(serialize_model(parse_model(as_byte_span(bytes))), bytes);
  std::vector<std::pair<std::string, Model>> stages;
  stages.emplace_back("", std::move(model));
  const std::string deeper = serialize_model(pipeline_of(std::move(stages)));
  EXPECT_NE(thrown_fault([&] { parse_model(as_byte_span(deeper)); }).find("nest deeper than 4"),
            std::string::npos);
}

}  // namespace
}  // namespace pippin::mil
