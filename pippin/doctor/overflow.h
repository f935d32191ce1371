// Results of fp16 that a measurement looks at: those that may be too large for it.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

inline constexpr double kLargestHalf = 65504;
// An estimate or one text does not see the largest value: values this near count.
inline constexpr double kEstimateMargin = 4;

// Of the function's own operations, not of nested ones, and without those that only move elements.
std::vector<const mil::Var*> half_results(const FunctionView& function);

}  // namespace pippin::doctor
