// Work that may end the process: Core ML's compiler, and the first prediction of a model on the
// Neural Engine. A child process does both first, and the result is remembered.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/coreml/core_model.h"

namespace pippin::coreml {

// The task of a trial: if they are set, compile `package` into the folder `target`; otherwise load
// and run a function of `compiled` once, with zeros.
struct TrialTask {
  std::filesystem::path package, target;
  std::filesystem::path compiled;
  LoadChoice choice;
};
std::vector<std::string> to_arguments(const TrialTask& task);
// Returns an error in the arguments, or an empty string.
ErrorText parse_arguments(const std::vector<std::string>& arguments, TrialTask& task);

// The result of `work`, which checks whether to continue; if `limit` expired first, its error_text
// says so. Throws Cancelled.
ErrorText with_limit(std::chrono::seconds limit,
                     const std::function<ErrorText(const KeepWaiting&)>& work);

// Runs in this process.
ErrorText run_trial(Framework& framework, const TrialTask& task, const KeepWaiting& keep_waiting);
// Runs in a separate process: `program` and the arguments. Cancelling ends the child (Cancelled).
ErrorText run_trial_apart(const std::vector<std::string>& program, const TrialTask& task,
                          std::chrono::seconds limit);

}  // namespace pippin::coreml
