// Models whose device refuses them run on the CPU, as a whole, where the options allow it.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/engine/device_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

using engine::Fallback;

// Makes some plans, and refuses the next ones.
class RefusingDevice final : public engine::Device {
 public:
  explicit RefusingDevice(int plans, ErrorCode code = ErrorCode::Unsupported)
      : plans_(plans), code_(code) {}

  const std::string& name() const override { return name_; }
  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override {
    if (plans_-- <= 0) fail(code_, "node 'gather' of function {}", function);
    return device_.make_plan(model, function, options);
  }
  std::unique_ptr<engine::StateMemory> make_state(
      const std::vector<mil::Feature>& states) override {
    return device_.make_state(states);
  }

 private:
  std::string name_ = "gpu";
  int plans_;
  ErrorCode code_;
  engine::ReferenceDevice device_;
};

runtime::LoadOptions with(std::shared_ptr<engine::Device> device, Fallback fallback) {
  runtime::LoadOptions options;
  options.threads = 1;
  options.compute.device = std::move(device);
  options.compute.fallback = fallback;
  return options;
}

// Collects warnings while it exists.
struct Warnings {
  std::vector<std::string> lines;
  LogScope scope{LogLevel::Warn,
                 [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
};

template <typename Body>
ErrorCode code_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::Internal;
}

runtime::RunnableModel open_demo(const runtime::LoadOptions& options) {
  return runtime::make_runnable(models::build(demo_model_folder(), {.context = 16}), options);
}

TEST(ModelFallback, ModelsGoToTheCpuAsAWhole) {
  for (const int plans : {0, 1}) {
    const Warnings warnings;
    const auto model = open_demo(with(std::make_shared<RefusingDevice>(plans), Fallback::NoKernel));
    EXPECT_EQ(model.device, "cpu");
    const auto sequence = model.model->new_sequence();
    EXPECT_EQ(sequence->decode(3).size(), static_cast<size_t>(model.model->vocab_size()));
    ASSERT_EQ(warnings.lines.size(), 1U);
    EXPECT_EQ(warnings.lines.front(),
              "gpu: node 'gather' of function main; the model runs on the CPU");
  }
}

TEST(ModelFallback, OnlyWhereItIsAllowed) {
  const auto open = [](ErrorCode code, Fallback fallback) {
    return code_of([&] { open_demo(with(std::make_shared<RefusingDevice>(1, code), fallback)); });
  };
  const Warnings warnings;
  EXPECT_EQ(open(ErrorCode::Unsupported, Fallback::Never), ErrorCode::Unsupported);
  EXPECT_EQ(open(ErrorCode::LimitExceeded, Fallback::NoKernel), ErrorCode::LimitExceeded);
  EXPECT_EQ(open(ErrorCode::Device, Fallback::NoKernel), ErrorCode::Device);
  EXPECT_EQ(open(ErrorCode::InvalidFile, Fallback::Always), ErrorCode::InvalidFile);
  EXPECT_TRUE(warnings.lines.empty());
  for (const ErrorCode code : {ErrorCode::LimitExceeded, ErrorCode::Device}) {
    const auto device = std::make_shared<RefusingDevice>(1, code);
    EXPECT_EQ(open_demo(with(device, Fallback::Always)).device, "cpu");
  }
  const auto device = std::make_shared<RefusingDevice>(100);
  EXPECT_EQ(open_demo(with(device, Fallback::Always)).device, "gpu");
}

TEST(ModelFallback, FoldersOfPackages) {
  const TempDir anemll, windowed;
  testing_models::write_anemll(anemll.path());
  models::WindowedOptions form;
  form.window = 4;
  form.cache = 12;
  for (const auto& part : models::Windowed(demo_model_folder(), form).parts()) {
    mil::write_package(part.model, windowed / (part.stem + ".mlpackage"));
  }
  for (const TempDir* folder : {&anemll, &windowed}) {
    const Warnings warnings;
    const auto model =
        runtime::make_runnable(runtime::find_packages(folder->path()),
                               with(std::make_shared<RefusingDevice>(1), Fallback::NoKernel));
    EXPECT_EQ(model.device, "cpu");
    EXPECT_FALSE(model.model->new_sequence()->decode(3).empty());
    EXPECT_EQ(warnings.lines.size(), 1U);
  }
}

TEST(ModelFallback, StatesOfPredictionsGoAlong) {
  const TempDir folder;
  testing_models::PackageMaker maker;
  testing_models::add_step(maker, "main", {.takes_ids = true, .gives_logits = true});
  maker.write(folder / "m.mlpackage");
  LoadOptions options;
  options.device = std::make_shared<RefusingDevice>(0);
  options.fallback = Fallback::NoKernel;
  for (const bool state_first : {false, true}) {
    const Warnings warnings;
    const Model model = Model::load(folder / "m.mlpackage", options);
    std::optional<State> state;
    if (state_first) state.emplace(model.make_state());
    const Function function = model.function();
    if (!state) state.emplace(function.make_state());
    Values inputs;
    for (const FeatureInfo& input : function.inputs()) {
      inputs.emplace(input.name, Tensor(input.type, input.shape));
    }
    EXPECT_FALSE(function.predict(inputs, *state).empty());
    EXPECT_EQ(warnings.lines.size(), 1U);
  }
  options.fallback = Fallback::Never;
  const Model model = Model::load(folder / "m.mlpackage", options);
  EXPECT_EQ(code_of([&] { model.function(); }), ErrorCode::Unsupported);
}

}  // namespace
}  // namespace pippin
