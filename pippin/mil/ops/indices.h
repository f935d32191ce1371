// Index rules shared by gather and scatter.
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// Resolves an index into an axis of `size`. Before CoreML7, negative indices count from the end and
// others out of range are rejected. Since CoreML7, indices out of range are rejected if `validate`
// is set; otherwise they count from the end or are clamped: the op leaves this undefined, but it is
// safe.
int64_t checked_index(const OpContext& context, double value, int64_t size, bool validate);

// The operation's validate_indices, false before CoreML7.
bool validates(const OpContext& context);

}  // namespace pippin::mil
