// Runs a function as plans where possible, and operation by operation otherwise.
//
// A block is cut into regions when it runs: a region ends before an operation whose results have a
// size that does not follow from the region's inputs, or that has nested blocks, lists or strings.
// Small integers that enter a region are symbols of its plan, so that one plan serves every
// iteration of a loop; if a size depends on them, they are fixed numbers, and the plan is for these
// only. Nested blocks run the same way.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/runner.h"

namespace pippin::engine {

std::unique_ptr<Runner> make_dynamic_runner(const mil::Model& model, std::string_view function,
                                            ThreadPool& pool, const RunnerOptions& options);

}  // namespace pippin::engine
