#include "pippin/coreml/trial.h"

#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/child_process.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/coreml/device.h"
#include "pippin/coreml/strided.h"
#include "pippin/mil/package/package.h"

namespace pippin::coreml {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFunction = "function=";

size_t elements_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

ErrorText compile(Framework& framework, const TrialTask& task, const KeepWaiting& keep_waiting) {
  fs::path made;
  ErrorText error_text = framework.compile(task.package, keep_waiting, made);
  if (!error_text.empty()) return error_text;
  const fs::path target = task.target / made.filename();
  std::error_code error;
  fs::rename(made, target, error);
  if (!error) return {};
  // The rename fails on another file system.
  fs::copy(made, target, fs::copy_options::recursive, error);
  if (error) return fmt::format("{}: {}", target.string(), error.message());
  fs::remove_all(made, error);
  return {};
}

ErrorText predict(Framework& framework, const TrialTask& task) {
  const mil::Model model = mil::read_package(task.compiled);
  const std::string function =
      task.choice.function.empty() ? model.default_function : task.choice.function;
  const mil::FunctionDescription& description = model.description(function);
  std::unique_ptr<CoreModel> loaded;
  ErrorText error_text = framework.load(task.compiled, task.choice, loaded);
  if (!error_text.empty()) return error_text;
  std::unique_ptr<CoreState> state;
  if (!description.states.empty()) error_text = loaded->new_state(state);
  Request request;
  request.state = state.get();
  std::vector<std::vector<std::byte>> memory;
  for (const mil::Feature& feature : description.inputs) {
    if (!error_text.empty()) return error_text;
    std::shared_ptr<CoreArray> array;
    if (feature.kind == mil::Feature::Kind::Image) {
      const mil::ImageSize size = feature.image.size;
      error_text = framework.make_picture(pixel_format(feature.image.color_space), size.width,
                                          size.height, array);
    } else {
      memory.emplace_back(
          mil::packed_size(feature.data_type, static_cast<int64_t>(elements_of(feature.shape))));
      error_text = framework.wrap(memory.back().data(), feature.data_type, feature.shape, array);
    }
    request.inputs.push_back({feature.name, array});
  }
  if (!error_text.empty()) return error_text;
  std::vector<Output> outputs;
  return loaded->predict(request, outputs);
}

}  // namespace

// None of them equals a command of the program.
std::vector<std::string> to_arguments(const TrialTask& task) {
  if (!task.package.empty()) return {"make", task.package.string(), task.target.string()};
  return {"try", task.compiled.string(), std::string(to_string(task.choice.units)),
          std::string(kFunction) + task.choice.function};
}

ErrorText parse_arguments(const std::vector<std::string>& arguments, TrialTask& task) {
  if (arguments.size() == 3 && arguments[0] == "make") {
    task.package = arguments[1];
    task.target = arguments[2];
    return {};
  }
  if (arguments.size() == 4 && arguments[0] == "try" && arguments[3].starts_with(kFunction)) {
    task.compiled = arguments[1];
    task.choice = {parse_units(arguments[2]), arguments[3].substr(kFunction.size())};
    return {};
  }
  return "expected: make PACKAGE FOLDER, or try COMPILED UNITS function=NAME";
}

ErrorText with_limit(std::chrono::seconds limit,
                     const std::function<ErrorText(const KeepWaiting&)>& work) {
  const auto end = std::chrono::steady_clock::now() + limit;
  ErrorText error_text =
      work([&] { return !cancel_requested() && std::chrono::steady_clock::now() < end; });
  check_cancel();
  if (!error_text.empty() && std::chrono::steady_clock::now() >= end) {
    error_text = fmt::format("it took longer than {} s", limit.count());
  }
  return error_text;
}

ErrorText run_trial(Framework& framework, const TrialTask& task, const KeepWaiting& keep_waiting) {
  return task.package.empty() ? predict(framework, task) : compile(framework, task, keep_waiting);
}

ErrorText run_trial_apart(const std::vector<std::string>& program, const TrialTask& task,
                          std::chrono::seconds limit) {
  std::vector<std::string> command = program;
  for (std::string& argument : to_arguments(task)) command.push_back(std::move(argument));
  const ChildResult result = run_child(command, limit);
  switch (result.end) {
    case ChildResult::End::Exited:
      if (result.status == 0) return {};
      return result.last_line.empty() ? fmt::format("its process ended with {}", result.status)
                                      : result.last_line;
    case ChildResult::End::Signalled:
      return fmt::format("it ended its process with signal {}", result.status);
    case ChildResult::End::TimedOut:
      break;
  }
  return fmt::format("it took longer than {} s", limit.count());
}

}  // namespace pippin::coreml
