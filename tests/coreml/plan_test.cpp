// Compute plans of the Core ML stand-in: operation by operation, rejections, failures.
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/coreml/compute_plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/mil/package/package.h"
#include "tests/coreml/standin_testing.h"

namespace pippin {
namespace {

using coreml::ComputeDevice;
using coreml::ComputeUnits;
using coreml::FunctionPlan;
using coreml::OperationPlan;
using standin::Behaviour;

class ComputePlans : public standin::StandinTest {
 protected:
  ComputePlans() {
    mil::Model model = engine::make_model(
        R"(func main<ios18>(tensor<fp16, [2]> x) {
    bool more = const()[name = string("more"), val = bool(true)];
    string wide = const()[name = string("wide"), val = string("fp32")];
    tensor<fp16, [2]> twice = add(x = x, y = x)[name = string("twice")];
    tensor<fp16, [2]> either = cond(pred = more)[name = string("either")]
      () {
        tensor<fp16, [2]> four = add(x = twice, y = twice)[name = string("four")];
      } -> (four)
      () {
        tensor<fp16, [2]> eight = mul(x = twice, y = twice)[name = string("eight")];
      } -> (eight);
    tensor<fp32, [2]> y = cast(x = either, dtype = wide)[name = string("y")];
  } -> (y);)");
    mil::write_package(model, folder_ / "m.mlpackage");
  }

  std::vector<FunctionPlan> ask(ComputeUnits units = ComputeUnits::All, int seconds = 600) {
    coreml::DeviceOptions options;
    options.units = units;
    options.limit = std::chrono::seconds(seconds);
    return coreml::ask_plans(mil::read_package(folder_ / "m.mlpackage"), nullptr, options);
  }
  std::pair<ErrorCode, std::string> refusal(ComputeUnits units = ComputeUnits::All,
                                            int seconds = 600) {
    try {
      ask(units, seconds);
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {ErrorCode::Internal, "no error"};
  }

  TempDir folder_;
};

// Operations of blocks follow the operation that contains them; constants and `cond` run nowhere.
TEST_F(ComputePlans, SayWhereEachOperationRuns) {
  const auto plans = ask();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].function, "main");
  std::vector<std::string> lines;
  for (const OperationPlan& one : plans[0].operations) {
    std::string line = one.type + " " + one.output;
    if (one.preferred) line += ": " + std::string(to_string(*one.preferred));
    for (const ComputeDevice device : one.supported) line += ", " + std::string(to_string(device));
    lines.push_back(line);
    EXPECT_EQ(one.preferred.has_value(), one.cost.has_value()) << line;
    EXPECT_DOUBLE_EQ(one.cost.value_or(0.25), 0.25) << line;
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "const more", "const wide", "add twice: Neural Engine, Neural Engine, GPU, CPU",
                "cond either", "add four: Neural Engine, Neural Engine, GPU, CPU",
                "mul eight: Neural Engine, Neural Engine, GPU, CPU", "cast y: GPU, GPU, CPU"}));
  EXPECT_DOUBLE_EQ(plans[0].share(ComputeDevice::NeuralEngine), 0.75);
  EXPECT_DOUBLE_EQ(plans[0].share(ComputeDevice::Gpu), 0.25);
  EXPECT_DOUBLE_EQ(plans[0].share(ComputeDevice::Cpu), 0);
  EXPECT_DOUBLE_EQ(ask(ComputeUnits::CpuOnly)[0].share(ComputeDevice::Cpu), 1);
  EXPECT_DOUBLE_EQ(ask(ComputeUnits::CpuAndGpu)[0].share(ComputeDevice::Gpu), 1);
  EXPECT_DOUBLE_EQ(ask(ComputeUnits::CpuAndNeuralEngine)[0].share(ComputeDevice::Cpu), 0.25);
}

TEST_F(ComputePlans, AreRefusedAndFailInALine) {
  standin::settings().ios = 170;
  const auto old = refusal();
  EXPECT_EQ(old.first, ErrorCode::Unsupported);
  EXPECT_EQ(old.second.find("Core ML tells its compute plans from macOS 14.4 on; this is "), 0U)
      << old.second;
  standin::settings().ios = 180;
  standin::settings().load = Behaviour::Fails;
  EXPECT_EQ(refusal(), std::pair(ErrorCode::Device,
                                 std::string("m.mlpackage: Core ML has no plan of main: it was "
                                             "told to fail")));
  standin::settings().load = Behaviour::Works;
  standin::settings().compile = Behaviour::Fails;
  EXPECT_EQ(refusal().first, ErrorCode::Device);
  standin::settings().compile = Behaviour::Works;
  mil::write_compiled(mil::read_package(folder_ / "m.mlpackage"), folder_ / "m.mlmodelc");
  standin::settings().late_ms = 1500;
  coreml::DeviceOptions options;
  options.limit = std::chrono::seconds(1);
  try {
    coreml::ask_plans(mil::read_package(folder_ / "m.mlmodelc"), nullptr, options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "m.mlmodelc: Core ML has no plan of main: it took longer than 1 s");
  }
  coreml::set_system_framework(nullptr);
  EXPECT_EQ(refusal().first, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace pippin
