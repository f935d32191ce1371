// Index rules that gather and scatter share.
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// An index into an axis of `size`. Before CoreML7 negative ones count from the end and others out
// of range are rejected; since then they are rejected with `validate`, else they count from the end
// or are cut to the nearest: undefined by the op, but safe.
int64_t checked_index(const OpContext& context, double value, int64_t size, bool validate);

// The operation's validate_indices, false before CoreML7.
bool validates(const OpContext& context);

}  // namespace pippin::mil
