// Sums and largest elements: their numbers of terms, and sums that their largest term keeps small.
#pragma once

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

// Elements that one sum of a reduce_..., cumsum takes; of an axis of any size the largest that it
// may have, the smallest where nothing bounds it.
double terms_of(const FunctionView& function, const mil::Operation& reduction);

// Whether the largest element of something is among what `var` is computed from, a few steps back.
bool depends_on_largest(const mil::Var* var);

// The largest |x| that a run of the model came to, where one was measured.
std::optional<double> measured_peak(const Subject& subject, const FunctionView& function,
                                    const mil::Var& x);

}  // namespace pippin::doctor
