// Runs a function as plans where it can and operation by operation where it must.
//
// A block is cut into regions when it runs: a region goes on until an operation whose results have
// a size that the region's inputs do not tell, or that has nested blocks, lists or strings. Small
// integers that come into a region are symbols of its plan, so that one plan serves every turn of a
// loop; where a size depends on them they are taken as numbers, and the plan is for those only.
// Nested blocks run the same way.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/runner.h"

namespace pippin::engine {

std::unique_ptr<Runner> make_dynamic_runner(const mil::Model& model, std::string_view function,
                                            ThreadPool& pool, const RunnerOptions& options);

}  // namespace pippin::engine
