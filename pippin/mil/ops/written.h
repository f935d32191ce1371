// Operations that coremltools rejects, or infers another type for, though the op table accepts
// them.
//
// The table's rules run packages of any origin and accept whatever is found there and has one
// meaning. Programs that Pippin writes must also be readable by coremltools
// (docs/decisions/0013-what-is-written-is-held-to-coremltools-rules.md).
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// Throws InvalidFile if coremltools would reject the context's operation, or would infer other
// outputs than `outputs`, which the op's rule returned.
void check_written(InferContext& context, const Infos& outputs);

}  // namespace pippin::mil
