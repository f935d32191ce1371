// Helpers shared by the palette ops of all opsets.
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// Returns n if the palette has 2^n entries with n = 1, 2, 3, 4, 6 or 8; rejects other sizes.
int palette_bits(const OpContext& context, int64_t entries);

}  // namespace pippin::mil
