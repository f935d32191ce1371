// fp16 results that a measurement includes: those that may be too large.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

inline constexpr double kLargestHalf = 65504;
// Estimates and a single text miss the largest value: values within this factor count.
inline constexpr double kEstimateMargin = 4;

// Results of the function's own operations, excluding nested ones and those that only move
// elements.
std::vector<const mil::Var*> half_results(const FunctionView& function);

}  // namespace pippin::doctor
