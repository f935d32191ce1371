#include "pippin/cli/options/backend.h"

#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/program_path.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/coreml/trial.h"
#include "pippin/cuda/backend.h"
#include "pippin/cuda/device.h"

namespace pippin::cli {
namespace {

constexpr const char* kTrialCommand = "core-ml-trial";

std::string backend_fault(const std::string& name) {
  if (name == "cpu" || name == "coreml" || name == "auto" || cuda::gpu_number(name)) return {};
  return fmt::format("{} is not cpu, cuda, cuda:N, auto or coreml", name);
}

}  // namespace

void add_backend_options(CLI::App& command, BackendChoice& choice) {
  CLI::Option* const backend =
      command
          .add_option("--backend", choice.backend,
                      "Device: cpu (Pippin's own engine), cuda or cuda:N (one of NVIDIA's GPUs), "
                      "auto (a GPU if one can be used), or coreml on a Mac")
          ->type_name("WHICH")
          ->check(CLI::Validator(backend_fault, ""));
  command
      .add_option("--compute-units", choice.units,
                  "Units for Core ML: all, cpuAndNeuralEngine, cpuAndGPU or cpuOnly")
      ->type_name("UNITS")
      ->check(CLI::IsMember({"all", "cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly"}).description(""))
      ->needs(backend);
}

coreml::DeviceOptions core_ml_options(const BackendChoice& choice) {
  coreml::DeviceOptions options;
  options.units = coreml::parse_units(choice.units);
  options.trial = {program_path(), kTrialCommand};
  options.on_load = [](const coreml::LoadReport& report) {
    std::fprintf(stderr, "%s\n", coreml::to_string(report).c_str());
  };
  return options;
}

void open_backend(const BackendChoice& choice, engine::ComputeOptions& compute) {
  using engine::Fallback;
  if (choice.backend == "coreml") {
    compute.device = coreml::open_device(core_ml_options(choice));
  } else if (const auto gpu = cuda::gpu_number(choice.backend)) {
    compute.device = cuda::open_device(*gpu);
    compute.fallback = Fallback::NoKernel;
  } else if (choice.backend == "auto") {
    const cuda::AutoChoice chosen = cuda::choose_device();
    compute.device = chosen.device;
    compute.fallback = Fallback::Always;
    std::fprintf(stderr, "backend: %s%s\n", chosen.device != nullptr ? "" : "cpu, since ",
                 chosen.reason.c_str());
  }
}

CLI::App* add_core_ml_trial_command(CLI::App& app) {
  CLI::App* const sub =
      app.add_subcommand(kTrialCommand, "Used by --backend coreml itself")->group("");
  const auto arguments = std::make_shared<std::vector<std::string>>();
  sub->add_option("ARGUMENTS", *arguments);
  sub->callback([arguments] {
    coreml::TrialTask task;
    coreml::ErrorText error_text = coreml::parse_arguments(*arguments, task);
    coreml::Framework* const framework = coreml::system_framework();
    if (error_text.empty()) {
      error_text = framework == nullptr
                       ? "Core ML is not available"
                       : coreml::run_trial(*framework, task, [] { return !cancel_requested(); });
    }
    if (error_text.empty()) return;
    std::fprintf(stderr, "%s\n", error_text.c_str());
    throw CLI::RuntimeError(1);
  });
  return sub;
}

}  // namespace pippin::cli
