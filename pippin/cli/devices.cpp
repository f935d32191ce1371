#include "pippin/cli/devices.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/facts/machine.h"
#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/platform/cpus.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/coreml/device.h"
#include "pippin/cuda/backend.h"
#include "pippin/cuda/device.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

// The GPUs of the system.
struct Gpus {
  std::vector<cuda::DeviceFacts> found;
  std::string problem;  // why there are none, or none can be used; empty: some can
};

Gpus find_gpus() {
  Gpus gpus;
  try {
    gpus.found = cuda::list_devices();
    if (gpus.found.empty()) gpus.problem = "no GPU";
  } catch (const Error& error) {
    gpus.problem = error.what();
  }
  if (!gpus.problem.empty()) return gpus;
  if (!cuda::has_kernels()) {
    gpus.problem = "built without nvcc";
    return gpus;
  }
  for (cuda::DeviceFacts& gpu : gpus.found) {
    if (gpu.problem.empty()) gpu.problem = cuda::problem_of(gpu.index);
  }
  const bool is_any_usable = std::any_of(gpus.found.begin(), gpus.found.end(),
                                         [](const auto& gpu) { return gpu.problem.empty(); });
  if (!is_any_usable) gpus.problem = gpus.found.front().problem;
  return gpus;
}

// 12040 is 12.4.
std::string version_of(int driver) {
  return fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
}

std::string devices_text(const Gpus& gpus) {
  std::string text = fmt::format("cpu     {}: {} cores, {}; {} of memory, {} free\n",
                                 app::cpu_name(), usable_cpus(), to_string(cpu_features()),
                                 format_bytes(total_memory()), format_bytes(free_memory()));
  if (coreml::system_framework() != nullptr) text += "coreml  Core ML\n";
  for (const cuda::DeviceFacts& gpu : gpus.found) {
    text += fmt::format(
        "cuda:{:<2} {}: {} of memory, {} free, compute capability {}.{}, driver for "
        "CUDA {}\n",
        gpu.index, gpu.name, format_bytes(gpu.memory_bytes), format_bytes(gpu.free_bytes),
        gpu.major, gpu.minor, version_of(gpu.driver_version));
    if (!gpu.problem.empty()) text += fmt::format("        cannot be used: {}\n", gpu.problem);
  }
  if (!gpus.problem.empty()) text += fmt::format("cuda    cannot be used: {}\n", gpus.problem);
  return text;
}

void write_problem(JsonWriter& json, const std::string& problem) {
  if (problem.empty()) {
    json.member("problem", nullptr);
  } else {
    json.member("problem", problem);
  }
}

std::string devices_json(const Gpus& gpus) {
  JsonWriter json(2);
  json.begin_object();
  json.key("cpu")
      .begin_object()
      .member("name", app::cpu_name())
      .member("cores", static_cast<int64_t>(usable_cpus()))
      .member("features", to_string(cpu_features()))
      .member("memory_bytes", total_memory())
      .member("free_bytes", free_memory())
      .end_object();
  json.member("coreml", coreml::system_framework() != nullptr);
  json.key("cuda").begin_object().member("kernels", cuda::kernel_targets());
  write_problem(json, gpus.problem);
  json.key("devices").begin_array();
  for (const cuda::DeviceFacts& gpu : gpus.found) {
    json.begin_object()
        .member("backend", fmt::format("cuda:{}", gpu.index))
        .member("name", gpu.name)
        .member("memory_bytes", gpu.memory_bytes)
        .member("free_bytes", gpu.free_bytes)
        .member("compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor))
        .member("driver", version_of(gpu.driver_version));
    write_problem(json, gpu.problem);
    json.end_object();
  }
  json.end_array().end_object().end_object();
  return json.text() + "\n";
}

}  // namespace

CLI::App* add_devices_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("devices", "Show the devices of this machine, for --backend");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([as_json] {
    const Gpus gpus = find_gpus();
    print_out(*as_json ? devices_json(gpus) : devices_text(gpus));
  });
  return command;
}

}  // namespace pippin::cli
