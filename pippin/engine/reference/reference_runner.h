// A Runner (runner.h) that interprets: every operation by its value rule.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/runner.h"

namespace pippin::engine {

std::unique_ptr<Runner> make_reference_runner(const mil::Model& model, std::string_view function,
                                              const RunnerOptions& options);

}  // namespace pippin::engine
