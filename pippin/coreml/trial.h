// What may end a process: Core ML's compiler, and the first prediction of a model on the Neural
// Engine. A child does both first, and what it met is remembered.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/coreml/core_model.h"

namespace pippin::coreml {

// What a trial is asked for: compile `package` into the folder `target`, where they are named, else
// load and run a function of `compiled` once, with zeros.
struct TrialTask {
  std::filesystem::path package, target;
  std::filesystem::path compiled;
  LoadChoice choice;
};
std::vector<std::string> to_arguments(const TrialTask& task);
// What is wrong with the arguments, or nothing.
Trouble parse_arguments(const std::vector<std::string>& arguments, TrialTask& task);

// What `work`, which asks whether to go on, comes to; where `limit` was over first, its trouble
// says so. Throws Cancelled.
Trouble with_limit(std::chrono::seconds limit,
                   const std::function<Trouble(const KeepWaiting&)>& work);

// In this process.
Trouble run_trial(Framework& framework, const TrialTask& task, const KeepWaiting& keep_waiting);
// In a process of its own: `program` and the arguments. Cancelling ends the child (Cancelled).
Trouble run_trial_apart(const std::vector<std::string>& program, const TrialTask& task,
                        std::chrono::seconds limit);

}  // namespace pippin::coreml
