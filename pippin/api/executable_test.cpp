// Programs of a few lines, run as declared, alone and in pipelines.
#include "pippin/api/executable.h"

#include <gtest/gtest.h>

#include "pippin/io/fault_test.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/text/text.h"

namespace pippin::api {
namespace {

// A function main over fp32 vectors.
mil::Model model_of(const std::string& inputs, const std::string& statements,
                    const std::string& outputs) {
  return mil::describe_program(mil::parse_text("program(1.3)\n{\n    func main<ios18>(" + inputs +
                                                   ") {\n" + statements + "        } -> (" +
                                                   outputs + ");\n}\n",
                                               "test"));
}

mil::Model doubling() {
  return model_of("tensor<fp32, [2]> x",
                  "tensor<fp32, [2]> y = add(x = x, y = x)[name = string(\"y\")];\n", "y");
}
mil::Model adding() {
  mil::Model model =
      model_of("tensor<fp32, [2]> y, tensor<fp32, [2]> w",
               "tensor<fp32, [2]> z = add(x = y, y = w)[name = string(\"z\")];\n", "z");
  mil::Feature& weight = model.functions[0].inputs[1];
  weight.optional = true;
  weight.default_value = 0.5f;
  return model;
}

mil::Feature vector(const std::string& name) {
  mil::Feature feature;
  feature.name = name;
  feature.shape = {2};
  return feature;
}

mil::Model pipeline_of(std::vector<mil::Model> stages, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  mil::Model model;
  model.kind = mil::ModelKind::Pipeline;
  mil::FunctionDescription description;
  description.name = "main";
  for (const std::string& name : inputs) description.inputs.push_back(vector(name));
  for (const std::string& name : outputs) description.outputs.push_back(vector(name));
  model.functions.push_back(description);
  for (mil::Model& stage : stages) model.stages.push_back({"s", std::move(stage)});
  return model;
}

Value pair(float a, float b) {
  return Tensor::from(std::vector<float>{a, b}, {2});
}

class ExecutableTest : public testing::Test {
 protected:
  std::unique_ptr<Executable> make(const mil::Model& model) {
    return Executable::make(model, "main", pool_, {});
  }
  Values run(const mil::Model& model, const Values& inputs) {
    engine::State state(collect_states(model, "main"));
    const auto executable = make(model);
    executable->check_names(inputs);
    return executable->run(inputs, state);
  }

  ThreadPool pool_{1};
};

TEST_F(ExecutableTest, OptionalInputsTakeTheirDefault) {
  const Values values = run(adding(), {{"y", pair(1, 2)}});
  EXPECT_EQ(tensor_at(values, "z").to_floats(), (std::vector<float>{1.5, 2.5}));
  const Values given = run(adding(), {{"y", pair(1, 2)}, {"w", pair(10, 20)}});
  EXPECT_EQ(tensor_at(given, "z").to_floats(), (std::vector<float>{11, 22}));
  EXPECT_FAULT(run(adding(), {{"a", pair(1, 2)}}),
               "no input 'a'; the model's inputs: y (float32 [2]), w (float32 [2], optional)");
}

TEST_F(ExecutableTest, StagesFeedLaterStages) {
  std::vector<mil::Model> stages;
  stages.push_back(doubling());
  stages.push_back(adding());
  const mil::Model model = pipeline_of(std::move(stages), {"x", "w"}, {"z"});
  const Values values = run(model, {{"x", pair(1, 2)}, {"w", pair(10, 20)}});
  EXPECT_EQ(values.size(), 1u);
  EXPECT_EQ(tensor_at(values, "z").to_floats(), (std::vector<float>{12, 24}));
  EXPECT_FAULT(run(model, {{"x", pair(1, 2)}}), "input 'w' is missing; expected float32 [2]");
  EXPECT_NE(make(model)->describe().find("stage 1 's':"), std::string::npos);
}

TEST_F(ExecutableTest, DefaultsOfAPipelineComeBeforeThoseOfItsStages) {
  std::vector<mil::Model> stages;
  stages.push_back(adding());
  mil::Model model = pipeline_of(std::move(stages), {"y", "w"}, {"z"});
  mil::Feature& weight = model.functions[0].inputs[1];
  weight.optional = true;
  EXPECT_EQ(tensor_at(run(model, {{"y", pair(1, 2)}}), "z").to_floats(),
            (std::vector<float>{1.5, 2.5}));
  weight.default_value = int64_t{10};
  EXPECT_EQ(tensor_at(run(model, {{"y", pair(1, 2)}}), "z").to_floats(),
            (std::vector<float>{11, 12}));
}

TEST_F(ExecutableTest, PipelinesNest) {
  std::vector<mil::Model> inner, outer;
  inner.push_back(doubling());
  outer.push_back(pipeline_of(std::move(inner), {"x"}, {"y"}));
  outer.push_back(adding());
  const mil::Model model = pipeline_of(std::move(outer), {"x"}, {"y", "z"});
  const Values values = run(model, {{"x", pair(1, 2)}});
  EXPECT_EQ(tensor_at(values, "y").to_floats(), (std::vector<float>{2, 4}));
  EXPECT_EQ(tensor_at(values, "z").to_floats(), (std::vector<float>{2.5, 4.5}));
}

TEST_F(ExecutableTest, PipelinesThatDoNotFitTogether) {
  const auto one_stage = [] {
    std::vector<mil::Model> stages;
    stages.push_back(adding());
    return stages;
  };
  EXPECT_FAULT(make(pipeline_of(one_stage(), {"x"}, {"z"})),
               "stage 0 's': its input 'y' is neither an input of the pipeline nor an output");
  EXPECT_FAULT(make(pipeline_of(one_stage(), {"y"}, {"y", "k"})),
               "no stage produces the pipeline's output 'k'");
}

TEST_F(ExecutableTest, ErrorsNameTheStageAndTheInput) {
  std::vector<mil::Model> stages;
  stages.push_back(doubling());
  stages.push_back(adding());
  mil::Model model = pipeline_of(std::move(stages), {"x"}, {"z"});
  EXPECT_FAULT(run(model, {{"x", Tensor(DataType::Float32, {3})}}),
               "input 'x': shape [3]; expected float32 [2]");
  model.stages[1].model.functions[0].inputs[0].shape = {5};
  EXPECT_FAULT(run(model, {{"x", pair(1, 2)}}),
               "stage 1 's': input 'y': shape [2]; expected float32 [5]");
}

TEST_F(ExecutableTest, ImagesGoInAndOut) {
  mil::Model model = model_of(
      "tensor<fp32, [1, 3, 1, 2]> picture",
      "tensor<fp32, [1, 3, 1, 2]> out = add(x = picture, y = picture)[name = string(\"o\")];\n",
      "out");
  for (mil::Feature* feature : {&model.functions[0].inputs[0], &model.functions[0].outputs[0]}) {
    feature->kind = mil::Feature::Kind::Image;
    feature->image.size = {2, 1};
    feature->image.color_space = mil::ColorSpace::Bgr;
  }
  Image picture{2, 1, 3, DataType::UInt8, {}};
  for (const int level : {1, 2, 3, 4, 200, 6}) picture.pixels.push_back(std::byte(level));
  const Values values = run(model, {{"picture", picture}});
  const Tensor& out = tensor_at(values, "out");
  EXPECT_EQ(out.type(), DataType::UInt8);
  EXPECT_EQ(out.shape(), (std::vector<int64_t>{1, 3, 1, 2}));
  EXPECT_EQ(out.to_floats(), (std::vector<float>{6, 12, 4, 255, 2, 8}));
}

TEST_F(ExecutableTest, StatesOfOneNameAreOne) {
  mil::Feature cache = vector("cache");
  cache.kind = mil::Feature::Kind::State;
  std::vector<mil::Feature> states = {cache};
  merge_states(states, {cache});
  EXPECT_EQ(states.size(), 1u);
  cache.shape = {3};
  EXPECT_FAULT(merge_states(states, {cache}),
               "two states have the name 'cache': float32 [2] and float32 [3]");
}

}  // namespace
}  // namespace pippin::api
