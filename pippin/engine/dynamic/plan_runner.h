// Runs functions by plans of them as a whole: what a device that has no more than plans can run.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/runner.h"

namespace pippin::engine {

// As Runner::make(); the plans are those of the options' device, for the declared shapes and others
// as they come. Throws Unsupported for inputs and outputs that are no tensors of numbers.
std::unique_ptr<Runner> make_plan_runner(const mil::Model& model, std::string_view function,
                                         ThreadPool& pool, const RunnerOptions& options);

}  // namespace pippin::engine
