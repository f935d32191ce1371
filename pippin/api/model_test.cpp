// The public interface on packages made with coremltools, compared with their stored outputs.
#include "pippin/api/model.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/allocations_testing.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

Tensor to_tensor(const NpyArray& array) {
  return Tensor::from(array.to_doubles(), array.shape);
}

// The arrays whose names start with the prefix, which is removed.
std::map<std::string, Tensor> load(const NpzFile& file, const std::string& prefix) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) {
    if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = to_tensor(file.read(name));
  }
  return tensors;
}

Values to_values(const std::map<std::string, Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

void expect_close(const Tensor& actual, const Tensor& expected, double atol, double rtol) {
  if (expected.shape().empty()) {
    EXPECT_EQ(actual.shape(), std::vector<int64_t>{1});
  } else {
    ASSERT_EQ(actual.shape(), expected.shape());
  }
  const auto a = actual.to_doubles(), e = expected.to_doubles();
  ASSERT_EQ(a.size(), e.size());
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::isnan(e[i])) continue;
    ASSERT_NEAR(a[i], e[i], atol + rtol * std::abs(e[i])) << i;
  }
}

enum class CallKind : uint8_t { NotPlanned, Planned, TakesNoMemory };

// A prepared call writes the same into other tensors, with a state that had the same contents
// before.
CallKind expect_same_by_call(const Function& function, const Values& inputs, const Values& outputs,
                             State& state) {
  Values targets;
  for (const auto& [name, value] : outputs) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      targets.emplace(name, Tensor(tensor->type(), tensor->shape()));
    }
  }
  Call call = function.prepare(inputs, std::move(targets));
  call.run(state);
  for (const auto& [name, value] : call.outputs()) {
    SCOPED_TRACE(name);
    const auto& have = std::get<Tensor>(value);
    const Tensor& want = tensor_at(outputs, name);
    if (have.type() == DataType::String) {
      EXPECT_EQ(have.strings(), want.strings());
    } else {
      expect_close(have, want, 1e-4, 1e-3);
    }
  }
  if (!call.is_planned()) return CallKind::NotPlanned;
  State scratch = function.make_state();
  call.run(scratch);
  const int64_t before = allocations();
  call.run(scratch);
  return allocations() == before ? CallKind::TakesNoMemory : CallKind::Planned;
}

// Runs every step of NAME.json on one State for all functions; `kind` is the expected kind of
// calls.
void run_package(const std::string& name, size_t max_steps, CallKind kind) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const Json description = Json::load(root / (name + ".json"));
  const double atol = description.get_float("atol"), rtol = description.get_float("rtol");
  const NpzFile arrays = NpzFile::open(root / (name + ".npz"));
  const Model model = Model::load(root / (name + ".mlpackage"));
  State state = model.make_state(), twin = model.make_state();
  std::map<std::string, Function> functions;
  const std::vector<Json> steps = description.at("steps").elements();
  for (size_t step = 0; step < std::min(steps.size(), max_steps); ++step) {
    SCOPED_TRACE(name + " " + std::to_string(step));
    const std::string function_name = steps[step].get_string("function");
    if (!functions.contains(function_name)) {
      functions.emplace(function_name, model.function(function_name));
    }
    const Function& function = functions.at(function_name);
    const std::string prefix = "s" + std::to_string(step);
    const Values inputs = to_values(load(arrays, prefix + ".in."));
    const Values outputs = function.predict(inputs, state);
    EXPECT_EQ(expect_same_by_call(function, inputs, outputs, twin), kind);
    EXPECT_EQ(outputs.size(), function.outputs().size());
    for (const FeatureInfo& output : function.outputs()) {
      EXPECT_EQ(tensor_at(outputs, output.name).type(), output.type);
    }
    for (const auto& [output, expected] : load(arrays, prefix + ".out.")) {
      expect_close(tensor_at(outputs, output), expected, atol, rtol);
    }
    for (const auto& [feature, expected] : load(arrays, prefix + ".state.")) {
      expect_close(state.get(feature), expected, atol, rtol);
    }
  }
}

TEST(Model, EnumeratedShapes) {
  run_package("g_enumerated_fp32", 9, CallKind::TakesNoMemory);
}
TEST(Model, ControlFlow) {
  run_package("g_control_flow", 9, CallKind::NotPlanned);
}
TEST(Model, States) {
  run_package("llama_stateful", 3, CallKind::TakesNoMemory);
}
TEST(Model, FunctionsShareStates) {
  run_package("llama_multifunction", 3, CallKind::TakesNoMemory);
}

TEST(Model, CompilesWhatItHoldsWhenItsFilesAreGone) {
  const TempDir folder;
  fs::create_directory(folder.path() / "half.mlmodelc");
  write_file(folder.path() / "half.mlmodelc/model.mil",
             "program(1.3) { func main<ios18>(tensor<fp32, [2]> x) "
             "{ tensor<fp32, [2]> y = mul(x = x, y = fp32(0x1p-1)); } -> (y); }");
  const Model model = Model::load(folder.path() / "half.mlmodelc");
  fs::remove_all(folder.path() / "half.mlmodelc");
  model.compile(folder.path() / "again.mlmodelc");
  const Values outputs = Model::load(folder.path() / "again.mlmodelc")
                             .function()
                             .predict({{"x", Tensor::from<float>({2, 3}, {2})}});
  EXPECT_EQ(tensor_at(outputs, "y").to_floats(), (std::vector<float>{1, 1.5f}));
  EXPECT_FAULT(model.compile(folder.path() / "again.mlpackage"), ".mlmodelc");
}

TEST(Model, SaysWhatItIs) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  LoadOptions options;
  options.num_threads = 2;
  const Model model = Model::load(root / "llama_multifunction.mlpackage", options);
  EXPECT_EQ(model.function_names(), (std::vector<std::string>{"infer", "prefill"}));
  EXPECT_EQ(model.default_function(), "infer");
  EXPECT_EQ(model.num_threads(), 2);
  EXPECT_EQ(model.metadata().specification_version, 9);
  EXPECT_EQ(model.metadata().kind, "mlProgram");
  EXPECT_TRUE(Model::load(root / "g_control_flow.mlpackage")
                  .metadata()
                  .user_defined.contains("com.github.apple.coremltools.version"));
  const Function function = model.function();
  EXPECT_EQ(function.name(), "infer");
  ASSERT_FALSE(function.states().empty());
  EXPECT_EQ(function.states()[0].kind, FeatureInfo::Kind::State);
  EXPECT_EQ(function.states()[0].type, DataType::Float16);
  const FunctionInfo described = model.describe("infer");
  const auto texts = [](const std::vector<FeatureInfo>& features) {
    std::vector<std::string> result;
    for (const FeatureInfo& feature : features) {
      result.push_back(feature.name + " " + to_string(feature));
    }
    return result;
  };
  EXPECT_EQ(described.name, "infer");
  EXPECT_EQ(texts(described.inputs), texts(function.inputs()));
  EXPECT_EQ(texts(described.outputs), texts(function.outputs()));
  EXPECT_EQ(texts(described.states), texts(function.states()));
  EXPECT_FAULT(model.describe("train"), "infer, prefill");
  EXPECT_EQ(function.make_state().features().size(), function.states().size());
}

TEST(Model, TracesWhereAsked) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  for (const bool trace : {false, true}) {
    LoadOptions options;
    options.trace = trace;
    const Model model = Model::load(root / "g_enumerated_fp32.mlpackage", options);
    const Function function = model.function();
    const FeatureInfo& input = function.inputs().at(0);
    function.predict({{input.name, Tensor(input.type, input.shape)}});
    EXPECT_EQ(function.describe().empty(), !trace) << function.describe();
  }
}

TEST(Model, WrongInputsAreOneLineEach) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const Model model = Model::load(root / "g_enumerated_fp32.mlpackage");
  const Function function = model.function();
  ASSERT_EQ(function.inputs().size(), 1u);
  const FeatureInfo& input = function.inputs()[0];
  ASSERT_FALSE(input.enumerated_shapes.empty());
  const Tensor good(DataType::Float32, input.shape);
  const std::string declared = input.name + " (" + to_string(input) + ")";
  EXPECT_FAULT(function.predict({{input.name, good}, {"other", good}}),
               "no input 'other'; the model's inputs: " + declared);
  EXPECT_FAULT(function.predict({}),
               "input '" + input.name + "' is missing; expected " + to_string(input));
  EXPECT_FAULT(function.predict({{input.name, Tensor(DataType::Float32, {7, 7, 7, 7})}}),
               "input '" + input.name + "': shape [7, 7, 7, 7]; expected " + to_string(input));
  EXPECT_FAULT(model.function("other"), "no function 'other'; the model's functions: main");
  EXPECT_FAULT(Model::load(root / "none.mlpackage"), "none.mlpackage");
  LoadOptions options;
  options.num_threads = -1;
  EXPECT_FAULT(Model::load(root / "g_enumerated_fp32.mlpackage", options), "-1 threads");
}

TEST(Model, StatesAreCheckedAndCarried) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const Model model = Model::load(root / "llama_stateful.mlpackage");
  const Function function = model.function();
  State state = function.make_state();
  const FeatureInfo& feature = state.features().at(0);
  Tensor ones(DataType::Float32, feature.shape);
  for (float& value : ones.data<float>()) value = 1;
  state.set(feature.name, ones);
  EXPECT_EQ(state.get(feature.name).to_doubles().front(), 1);
  state.reset();
  EXPECT_EQ(state.get(feature.name).to_doubles().back(), 0);
  EXPECT_FAULT(state.get("none"), "no state 'none'; the model's states: ");
  EXPECT_FAULT(state.set(feature.name, Tensor(DataType::Float16, {2})),
               "state '" + feature.name + "': shape [2]; expected " + to_string(feature));

  Values inputs;
  for (const FeatureInfo& input : function.inputs()) {
    inputs.emplace(input.name, Tensor(input.type, input.shape));
  }
  const Model other = Model::load(root / "g_control_flow.mlpackage");
  State wrong = other.make_state();
  EXPECT_FAULT(function.predict(inputs, wrong), "the given state has no '");
}

TEST(Model, LimitsEndAPrediction) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const NpzFile arrays = NpzFile::open(root / "g_enumerated_fp32.npz");
  LoadOptions options;
  options.max_elements = 2;
  const Model model = Model::load(root / "g_enumerated_fp32.mlpackage", options);
  EXPECT_ERROR(model.function().predict(to_values(load(arrays, "s0.in."))),
               ErrorCode::LimitExceeded, "a value of 4 elements, the limit is 2");
}

}  // namespace
}  // namespace pippin
