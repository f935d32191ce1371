// What coremltools refuses, or infers another type for, though the op table's rules take it.
//
// The table's rules run packages of any origin, and are as permissive as what is found
// there and has one meaning. What Pippin writes has to be read by coremltools as well
// (docs/decisions/0013-what-is-written-is-held-to-coremltools-rules.md).
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// Throws InvalidFile where coremltools would not take the context's operation, or would give it
// other outputs than these, which the op's rule gave.
void check_written(InferContext& context, const Infos& outputs);

}  // namespace pippin::mil
