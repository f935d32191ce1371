// What the palette ops of all opsets share.
#pragma once

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

// n where the palette has 2^n entries, n of 1, 2, 3, 4, 6 and 8; rejects other sizes.
int palette_bits(const OpContext& context, int64_t entries);

}  // namespace pippin::mil
