// Runs functions by plans of the whole function: for devices that have plans only.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/runner.h"

namespace pippin::engine {

// Like Runner::make(); the plans are those of the options' device, for the declared shapes, and for
// other shapes on first use. Throws Unsupported for inputs and outputs that are not tensors of
// numbers.
std::unique_ptr<Runner> make_plan_runner(const mil::Model& model, std::string_view function,
                                         ThreadPool& pool, const RunnerOptions& options);

}  // namespace pippin::engine
