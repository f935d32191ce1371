// Sums: their numbers of terms, and sums bounded by their largest term.
#pragma once

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

// The number of elements in one sum of a reduce_..., cumsum; for an axis of any size, the largest
// that it may have, or the smallest without a bound.
double terms_of(const FunctionView& function, const mil::Operation& reduction);

// Whether `var` is computed from the largest element of something, within a few steps.
bool depends_on_largest(const mil::Var* var);

// The largest |x| in a run of the model, if one was measured.
std::optional<double> measured_peak(const Subject& subject, const FunctionView& function,
                                    const mil::Var& x);

}  // namespace pippin::doctor
