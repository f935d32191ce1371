// The Core ML device with the stand-in: packages, states, lanes, errors, caching and releasing.
#include "pippin/coreml/device.h"

#include <cmath>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/coreml/standin.h"
#include "tests/coreml/standin_engine.h"
#include "tests/coreml/standin_testing.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using engine::fault;
using standin::Behaviour;
using standin::StandinTest;

using CoreMl = StandinTest;

double close_to(double value) {
  return 1e-3 + std::abs(value) * 2e-3;  // tolerance for halves
}

void expect_close(const Values& have, const Values& want) {
  ASSERT_EQ(have.size(), want.size());
  for (const auto& [name, value] : want) {
    SCOPED_TRACE(name);
    const Tensor &there = tensor_at(have, name), &here = std::get<Tensor>(value);
    EXPECT_EQ(there.type(), here.type());
    ASSERT_EQ(there.shape(), here.shape());
    const auto a = there.to_doubles(), b = here.to_doubles();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) {
        EXPECT_TRUE(std::isnan(a[i])) << "element " << i;
      } else {
        ASSERT_NEAR(a[i], b[i], close_to(b[i])) << "element " << i;
      }
    }
  }
}

Values random_inputs(const Function& function, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(0, 1);
  Values inputs;
  for (const FeatureInfo& input : function.inputs()) {
    const Tensor zeros(input.type, input.shape);
    std::vector<double> values;
    const bool is_picture = input.kind == FeatureInfo::Kind::Image;
    const bool is_float = input.type == DataType::Float32 || input.type == DataType::Float16;
    for (int64_t i = 0; i < zeros.size(); ++i) {
      values.push_back(is_picture ? std::floor(number(random) * 256)
                       : is_float ? number(random) - 0.5
                                  : std::floor(number(random) * 3));
    }
    inputs.emplace(input.name,
                   Tensor::from(std::span<const double>(values), input.shape).to(input.type));
  }
  return inputs;
}

// Predictions with a state, with and without Core ML, from equal states each time.
void expect_same_predictions(const fs::path& package, int steps) {
  SCOPED_TRACE(package.filename());
  LoadOptions there_options, here_options;
  there_options.device = coreml::open_device();
  there_options.num_threads = here_options.num_threads = 1;
  const Model there = Model::load(package, there_options),
              here = Model::load(package, here_options);
  for (const std::string& name : here.function_names()) {
    SCOPED_TRACE(name);
    const Function there_function = there.function(name), here_function = here.function(name);
    State there_state = there_function.make_state(), here_state = here_function.make_state();
    for (int step = 0; step < steps; ++step) {
      const Values inputs = random_inputs(here_function, static_cast<uint32_t>(step) + 7);
      const Values have = there_function.predict(inputs, there_state);
      expect_close(have, here_function.predict(inputs, here_state));
      for (const FeatureInfo& state : here_state.features()) {
        const Tensor value = here_state.get(state.name);
        expect_close({{state.name, there_state.get(state.name)}}, {{state.name, value}});
        there_state.set(state.name, value);
      }
    }
  }
}

TEST_F(CoreMl, RunsTheSharedPackages) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  expect_same_predictions(packages / "add_model.mlmodelc", 2);
  expect_same_predictions(packages / "basic-pitch-nmp.mlpackage", 1);
  expect_same_predictions(packages / "silero_vad.mlmodelc", 3);
  EXPECT_GT(standin::counters().predictions, 4);
}

TEST_F(CoreMl, RunsPackagesWithStates) {
  const TempDir folder;
  testing_models::PackageMaker maker;
  testing_models::add_step(maker, "main", {.takes_ids = true, .gives_logits = true});
  maker.write(folder / "m.mlpackage");
  expect_same_predictions(folder / "m.mlpackage", 4);
}

Tensor tensor(DataType type, const std::vector<double>& values) {
  return Tensor::from(std::span(values), {static_cast<int64_t>(values.size())}).to(type);
}

// Loops, data-dependent sizes, and types of every kind.
TEST_F(CoreMl, RunsWhatIsNoPlan) {
  const TempDir folder;
  mil::Model model =
      engine::make_model(R"(func main<ios18>(tensor<fp16, [?, 2]> x, tensor<int32, [3]> ids) {
    tensor<fp16, [2]> ones = const()[name = string("ones"), val = tensor<fp16, [2]>([0x1p+0, 0x1p+1])];
    tensor<fp16, [?, 2]> sum = add(x = x, y = ones)[name = string("sum")];
    string wide = const()[name = string("wide"), val = string("fp32")];
    tensor<fp32, [?, 2]> more = cast(x = sum, dtype = wide)[name = string("more")];
    tensor<int32, [?, 1]> where = non_zero(x = ids)[name = string("where")];
  } -> (sum, more, where);)");
  mil::write_package(model, folder / "m.mlpackage");
  LoadOptions there_options, here_options;
  there_options.device = coreml::open_device();
  const Model there = Model::load(folder / "m.mlpackage", there_options);
  const Model here = Model::load(folder / "m.mlpackage", here_options);
  for (const int64_t rows : {1, 3, 8, 3}) {
    std::vector<double> x;
    for (int64_t i = 0; i < 2 * rows; ++i) x.push_back(0.25 * static_cast<double>(i) - 1);
    const Values inputs = {
        {"x", Tensor::from(std::span<const double>(x), {rows, 2}).to(DataType::Float16)},
        {"ids", tensor(DataType::Int32, {1, 0, static_cast<double>(rows % 2)})}};
    expect_close(there.function().predict(inputs), here.function().predict(inputs));
  }
}

class CoreMlErrors : public StandinTest {
 protected:
  CoreMlErrors() {
    testing_models::PackageMaker maker;
    testing_models::add_step(maker, "main", {.takes_ids = true, .gives_logits = true});
    maker.write(folder_ / "m.mlpackage");
  }
  std::pair<ErrorCode, std::string> opening(const coreml::DeviceOptions& options = {}) {
    return fault([&] {
      LoadOptions load;
      load.device = coreml::open_device(options);
      load.load_cache = folder_ / "cache";
      Model::load(folder_ / "m.mlpackage", load).function();
    });
  }
  coreml::DeviceOptions apart(int seconds = 60) const {
    coreml::DeviceOptions options;
    options.trial = {PIPPIN_TRIAL};
    options.limit = std::chrono::seconds(seconds);
    return options;
  }
  TempDir folder_;
};

TEST_F(CoreMlErrors, ACompileThatFails) {
  standin::settings().compile = Behaviour::Fails;
  EXPECT_EQ(opening(), std::pair(ErrorCode::Device,
                                 std::string("m.mlpackage: Core ML cannot compile it: compiler "
                                             "error: it was told to fail")));
  standin::settings().compile = Behaviour::Works;
  EXPECT_EQ(opening().second, "no error");  // nothing was cached
}

TEST_F(CoreMlErrors, APredictionThatFails) {
  LoadOptions load;
  load.device = coreml::open_device();
  const Model model = Model::load(folder_ / "m.mlpackage", load);
  const Function function = model.function();
  const Values inputs = random_inputs(function, 1);
  standin::settings().predict = Behaviour::Fails;
  EXPECT_EQ(fault([&] { function.predict(inputs); }),
            std::pair(ErrorCode::Device, std::string("m.mlpackage: Core ML's prediction failed: "
                                                     "the prediction was told to fail")));
}

TEST_F(CoreMlErrors, SystemsOfOtherVersions) {
  standin::settings().ios = 170;
  const auto [code, text] = opening();
  EXPECT_EQ(code, ErrorCode::Unsupported);
  EXPECT_TRUE(
      text.starts_with("the model has states, which Core ML has from macOS 15 on; this is "))
      << text;
  standin::settings().ios = 150;
  coreml::DeviceOptions options;
  options.units = coreml::ComputeUnits::CpuAndNeuralEngine;
  EXPECT_TRUE(opening(options).second.starts_with(
      "Core ML has the compute units cpuAndNeuralEngine from macOS 13 on; this is "));
  EXPECT_EQ(fault([] { coreml::parse_units("gpu"); }),
            std::pair(ErrorCode::InvalidArgument,
                      std::string("no compute units 'gpu'; there are all, cpuAndNeuralEngine, "
                                  "cpuAndGPU and cpuOnly")));
  EXPECT_EQ(fault([] { coreml::open_device({}, nullptr); }).first, ErrorCode::Unsupported);
}

TEST_F(CoreMlErrors, APackageThatIsTooNew) {
  mil::Model model = engine::make_model(R"(func main<ios18>(tensor<fp32, [2]> x) {
    tensor<fp32, [2]> y = add(x = x, y = x)[name = string("y")];
  } -> (y);)");
  mil::write_package(model, folder_ / "new.mlpackage");
  standin::settings().ios = 160;
  LoadOptions load;
  load.device = coreml::open_device();
  const auto [code, text] = fault([&] { Model::load(folder_ / "new.mlpackage", load).function(); });
  EXPECT_EQ(code, ErrorCode::Device);
  EXPECT_EQ(text,
            "new.mlpackage: Core ML cannot compile it: compiler error: the model has specification "
            "version 9, this system knows 7");
}

// Old systems have no handlers, no backings and no completions, but give the same numbers.
TEST_F(CoreMl, RunsOnOldSystems) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  standin::settings().ios = 150;
  expect_same_predictions(packages / "add_model.mlmodelc", 2);
  EXPECT_EQ(standin::counters().used_backings, 0);
}

// A compiled model is made once, found by the files' identity or content, and made again if it is
// gone or belongs to another system.
TEST_F(CoreMlErrors, CompiledModelsAreKept) {
  EXPECT_EQ(opening().second, "no error");
  const int64_t compiled = standin::counters().compiled;
  EXPECT_EQ(opening().second, "no error");
  EXPECT_EQ(standin::counters().compiled, compiled);
  // A copy elsewhere is the same model.
  fs::copy(folder_ / "m.mlpackage", folder_ / "copy.mlpackage", fs::copy_options::recursive);
  LoadOptions load;
  load.device = coreml::open_device();
  load.load_cache = folder_ / "cache";
  Model::load(folder_ / "copy.mlpackage", load).function();
  EXPECT_EQ(standin::counters().compiled, compiled);

  // Emptied, though its folder remains.
  fs::path entry;
  for (const auto& one : fs::directory_iterator(folder_ / "cache")) {
    if (one.path().extension() == ".folder") entry = one.path();
  }
  ASSERT_FALSE(entry.empty());
  for (const auto& one : fs::directory_iterator(entry)) {
    if (one.path().extension() == ".mlmodelc") fs::remove(one.path() / "model.mil");
  }
  EXPECT_EQ(opening().second, "no error");
  EXPECT_EQ(standin::counters().compiled, compiled + 1);
  fs::remove_all(entry);
  EXPECT_EQ(opening().second, "no error");
  EXPECT_EQ(standin::counters().compiled, compiled + 2);
  fs::remove_all(folder_ / "cache");
  EXPECT_EQ(opening().second, "no error");
}

// Threads act like processes here: each compiles, and one result is kept.
TEST_F(CoreMlErrors, ManyCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { good += opening().second == "no error" ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
  size_t folders = 0;
  for (const auto& one : fs::directory_iterator(folder_ / "cache")) {
    folders += one.path().extension() == ".folder" ? 1 : 0;
    EXPECT_NE(one.path().extension(), ".partial");
  }
  EXPECT_EQ(folders, 1U);
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

// Failures that end or block a process happen to a child, and the verdict is remembered.
TEST_F(CoreMlErrors, TrialsRunApart) {
  {
    const Variable kills("STANDIN_COMPILE", "kills");
    EXPECT_EQ(opening(apart()).second,
              "m.mlpackage: Core ML cannot compile it: it ended its process with signal 9");
  }
  {
    const Variable hangs("STANDIN_COMPILE", "hangs");
    EXPECT_EQ(opening(apart(1)).second,
              "m.mlpackage: Core ML cannot compile it: it took longer than 1 s");
  }
  {
    const Variable fails("STANDIN_COMPILE", "fails");
    EXPECT_EQ(opening(apart()).second,
              "m.mlpackage: Core ML cannot compile it: compiler error: it was told to fail");
  }
  const std::string verdict =
      "m.mlpackage: Core ML with all fails at the first prediction: it ended its process with "
      "signal 9; other compute units may do";
  {
    const Variable kills("STANDIN_PREDICT", "kills");
    EXPECT_EQ(opening(apart()), std::pair(ErrorCode::Device, verdict));
  }
  EXPECT_EQ(opening(apart()).second, verdict);  // remembered
  coreml::DeviceOptions options = apart();
  options.units = coreml::ComputeUnits::CpuAndGpu;
  EXPECT_EQ(opening(options).second, "no error");
  options.units = coreml::ComputeUnits::CpuAndNeuralEngine;
  coreml::LoadReport report;
  options.on_load = [&](const coreml::LoadReport& given) { report = given; };
  EXPECT_EQ(opening(options).second, "no error");
  EXPECT_TRUE(report.trial_seconds.has_value());
  EXPECT_FALSE(report.compile_seconds.has_value());
  EXPECT_EQ(opening(options).second, "no error");
  EXPECT_FALSE(report.trial_seconds.has_value());
  options.trial = {"/no/such/program"};
  fs::remove_all(folder_ / "cache");
  EXPECT_EQ(opening(options).first, ErrorCode::NotFound);
}

TEST_F(CoreMl, AHangInThisProcessIsWaitedForNoLonger) {
  const TempDir folder;
  testing_models::PackageMaker maker;
  testing_models::add_step(maker, "main", {.takes_ids = true, .gives_logits = true});
  maker.write(folder / "m.mlpackage");
  standin::settings().late_ms = 3000;
  coreml::DeviceOptions options;
  options.limit = std::chrono::seconds(1);
  LoadOptions load;
  load.device = coreml::open_device(options);
  EXPECT_EQ(fault([&] { Model::load(folder / "m.mlpackage", load).function(); }),
            std::pair(ErrorCode::Device, std::string("m.mlpackage: Core ML cannot compile it: it "
                                                     "took longer than 1 s")));
}

// Nothing of a loaded model may leak; checked by LeakSanitizer in the preset `asan`.
TEST_F(CoreMl, LoadsAThousandTimes) {
  const TempDir folder;
  const mil::Model model =
      engine::make_model(R"(func main<ios18>(tensor<fp16, [2]> x, state<tensor<fp16, [2]>> s) {
    tensor<fp16, [2]> before = read_state(input = s)[name = string("before")];
    tensor<fp16, [2]> y = add(x = x, y = before)[name = string("y")];
    write_state(input = s, data = y)[name = string("write")];
  } -> (y);)");
  mil::write_package(model, folder / "m.mlpackage");
  mil::write_compiled(mil::read_package(folder / "m.mlpackage"), folder / "m.mlmodelc");
  standin::settings().late_ms = 0;
  standin::engine_options().threads = 1;
  LoadOptions load;
  load.num_threads = 1;
  for (int i = 0; i < 1000; ++i) {
    load.device = coreml::open_device();
    const Model loaded = Model::load(folder / "m.mlmodelc", load);
    const Function function = loaded.function();
    State state = function.make_state();
    const Values inputs = {{"x", tensor(DataType::Float16, {1, 2})}};
    function.predict(inputs, state);
    const Values outputs = function.predict(inputs, state);
    ASSERT_EQ(tensor_at(outputs, "y").to_doubles(), (std::vector<double>{2, 4}));
  }
  EXPECT_EQ(standin::counters().loaded, 1000);
  EXPECT_EQ(standin::counters().models_alive, 0);
}

// The stand-in itself: it detects what Core ML forbids.
TEST_F(CoreMl, TheStandinNotices) {
  const TempDir folder;
  const mil::Model model =
      engine::make_model(R"(func main<ios18>(tensor<fp16, [2]> x, state<tensor<fp16, [2]>> s) {
    tensor<fp16, [2]> before = read_state(input = s)[name = string("before")];
    tensor<fp16, [2]> y = add(x = x, y = before)[name = string("y")];
    write_state(input = s, data = y)[name = string("write")];
  } -> (y);)");
  mil::write_package(model, folder / "m.mlpackage");
  mil::write_compiled(mil::read_package(folder / "m.mlpackage"), folder / "m.mlmodelc");
  coreml::Framework& framework = coreml::core_ml();
  std::unique_ptr<coreml::CoreModel> loaded;
  ASSERT_EQ(framework.load(folder / "m.mlmodelc", {}, loaded), "");
  std::unique_ptr<coreml::CoreState> state;
  ASSERT_EQ(loaded->new_state(state), "");
  EXPECT_NE(state->access("other", [](const coreml::Elements&) {}).find("no state named other"),
            std::string::npos);
  std::vector<uint16_t> x(2, 0x3C00);
  coreml::Request request;
  request.state = state.get();
  std::vector<coreml::Output> outputs;
  EXPECT_EQ(loaded->predict(request, outputs), "the input x is missing");
  std::shared_ptr<coreml::CoreArray> array;
  ASSERT_EQ(framework.wrap(x.data(), mil::DataType::Float16, {1, 2}, array), "");
  request.inputs = {{"x", array}};
  EXPECT_EQ(loaded->predict(request, outputs),
            "the input x is fp16 [1, 2], which the model does not take");
  ASSERT_EQ(framework.wrap(x.data(), mil::DataType::Float16, {2}, array), "");
  request.inputs = {{"x", array}, {"z", array}};
  EXPECT_EQ(loaded->predict(request, outputs), "the model has no input z");
  request.inputs = {{"x", array}};
  EXPECT_NE(framework.wrap(x.data(), mil::DataType::Bool, {2}, array), "");
  standin::settings().late_ms = 50;
  {
    const auto one = loaded->start(request), two = loaded->start(request);
    EXPECT_EQ(standin::take_faults(),
              (std::vector<std::string>{"two predictions of one state overlap"}));
    state->access("s", [](const coreml::Elements&) {});
    EXPECT_EQ(standin::take_faults(),
              (std::vector<std::string>{"a state is looked at during a prediction"}));
    EXPECT_EQ(one->wait(outputs), "");
    EXPECT_EQ(two->wait(outputs), "");
  }
  standin::settings().ios = 170;
  EXPECT_EQ(loaded->predict(request, outputs), "");
  EXPECT_EQ(standin::take_faults(),
            (std::vector<std::string>{
                "the system has no predictionFromFeatures:usingState:options:error:"}));
}

}  // namespace
}  // namespace pippin
