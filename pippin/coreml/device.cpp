#include "pippin/coreml/device.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/coreml/compiled_models.h"
#include "pippin/coreml/loaded_function.h"
#include "pippin/coreml/plan.h"
#include "pippin/coreml/state.h"

namespace pippin::coreml {
namespace {

constexpr std::array<std::pair<ComputeUnits, std::string_view>, 4> kUnits = {{
    {ComputeUnits::All, "all"},
    {ComputeUnits::CpuAndNeuralEngine, "cpuAndNeuralEngine"},
    {ComputeUnits::CpuAndGpu, "cpuAndGPU"},
    {ComputeUnits::CpuOnly, "cpuOnly"},
}};

std::atomic<Framework*>& the_framework() {
#ifdef __APPLE__
  static std::atomic<Framework*> framework{&core_ml()};
#else
  static std::atomic<Framework*> framework{nullptr};
#endif
  return framework;
}

class CoreMlDevice final : public engine::Device {
 public:
  CoreMlDevice(Framework& framework, DeviceOptions options)
      : framework_(framework), options_(std::move(options)), compiled_(framework_, options_) {}

  const std::string& name() const override { return name_; }

  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override {
    if (!options.outputs.empty()) {
      fail(ErrorCode::Unsupported,
           "the device 'coreml' gives a function's results and no values from inside it");
    }
    compiled_.check(model, function);
    return std::make_shared<const CorePlan>(name_, load(model, function, options.compute.cache),
                                            model, function, options);
  }

  std::unique_ptr<engine::StateMemory> make_state(
      const std::vector<mil::Feature>& states) override {
    return std::make_unique<CoreStateMemory>(states);
  }

 private:
  // Loads a function once for all its plans. Loads run one after another: each may need all the
  // memory for Core ML to prepare a model.
  std::shared_ptr<LoadedFunction> load(const mil::Model& model, std::string_view function,
                                       const std::shared_ptr<LoadCache>& cache) {
    const std::lock_guard lock(mutex_);
    std::erase_if(loaded_, [](const auto& one) { return one.second.expired(); });
    // While a plan is alive, so is the model at this address.
    std::weak_ptr<LoadedFunction>& known = loaded_[{&model, std::string(function)}];
    if (auto loaded = known.lock()) return loaded;
    LoadReport report;
    report.function = function;
    auto loaded = load_anew(model, function, cache, report);
    if (options_.on_load) options_.on_load(report);
    known = loaded;
    return loaded;
  }

  std::shared_ptr<LoadedFunction> load_anew(const mil::Model& model, std::string_view function,
                                            const std::shared_ptr<LoadCache>& cache,
                                            LoadReport& report) {
    LoadChoice choice;
    choice.units = options_.units;
    if (function != model.default_function) choice.function = function;
    std::shared_ptr<const CompiledModel> compiled = compile_once(model, cache, report);
    report.model = compiled->name;
    std::unique_ptr<CoreModel> loaded;
    ErrorText error_text;
    for (const bool again : {false, true}) {
      compiled_.try_function(*compiled, choice.function, report);
      const auto start = std::chrono::steady_clock::now();
      error_text = framework_.load(compiled->path, choice, loaded);
      report.load_seconds = seconds_since(start);
      if (error_text.empty()) {
        return std::make_shared<LoadedFunction>(framework_, compiled, std::move(loaded));
      }
      // The cached model may be from another version of the system, or be gone.
      if (again || compiled->key.empty() || report.compile_seconds) break;
      cache->drop_folder(compiled->key);
      compiled_models_.erase(&model);
      compiled = compile_once(model, cache, report);
    }
    fail(ErrorCode::Device, "{}: Core ML cannot load it: {}", compiled->name, error_text);
  }

  // All functions of a model are compiled together.
  std::shared_ptr<const CompiledModel> compile_once(const mil::Model& model,
                                                    const std::shared_ptr<LoadCache>& cache,
                                                    LoadReport& report) {
    std::erase_if(compiled_models_, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<const CompiledModel>& known = compiled_models_[&model];
    if (auto compiled = known.lock()) return compiled;
    auto compiled = compiled_.get(model, cache, report);
    known = compiled;
    return compiled;
  }

  const std::string name_ = "coreml";
  Framework& framework_;
  const DeviceOptions options_;
  const CompiledModels compiled_;
  std::mutex mutex_;
  std::map<std::pair<const mil::Model*, std::string>, std::weak_ptr<LoadedFunction>> loaded_;
  std::map<const mil::Model*, std::weak_ptr<const CompiledModel>> compiled_models_;
};

}  // namespace

ComputeUnits parse_units(std::string_view name) {
  for (const auto& [units, known] : kUnits) {
    if (known == name) return units;
  }
  fail(ErrorCode::InvalidArgument,
       "no compute units '{}'; there are all, cpuAndNeuralEngine, cpuAndGPU and cpuOnly", name);
}

std::string_view to_string(ComputeUnits units) {
  for (const auto& [known, name] : kUnits) {
    if (known == units) return name;
  }
  return "?";
}

std::string to_string(const LoadReport& report) {
  std::string text = fmt::format("core ml: {} of {}: ", report.function, report.model);
  if (report.compile_seconds)
    text += fmt::format("compiled in {:.2f} s, ", *report.compile_seconds);
  if (report.trial_seconds) text += fmt::format("tried in {:.2f} s, ", *report.trial_seconds);
  return text + fmt::format("loaded in {:.2f} s", report.load_seconds);
}

Framework* system_framework() {
  return the_framework();
}

void set_system_framework(Framework* framework) {
  the_framework() = framework;
}

Framework& usable_framework(Framework* framework, ComputeUnits units) {
  if (framework == nullptr) {
    fail(ErrorCode::Unsupported,
         "Core ML is not available: it is part of macOS, and programs for other systems are built "
         "without it");
  }
  if (units == ComputeUnits::CpuAndNeuralEngine && !framework->has_neural_engine_units()) {
    fail(ErrorCode::Unsupported,
         "Core ML has the compute units cpuAndNeuralEngine from macOS 13 on; this is {}",
         framework->system());
  }
  return *framework;
}

std::shared_ptr<engine::Device> open_device(const DeviceOptions& options, Framework* framework) {
  return std::make_shared<CoreMlDevice>(usable_framework(framework, options.units), options);
}

}  // namespace pippin::coreml
