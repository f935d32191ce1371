// Amortized concatenation: if an array is concatenated to repeatedly, like a model's cache, the
// existing elements are not copied.
//
//   [ used by arrays ......... | spare ]   for each index of the axes outside the one that grows
//
// The first array's elements are in a buffer with spare room after them along the axis. The result
// is a longer view of the same buffer, and only the new elements are written. Older views stay
// valid: they never read past their end, and room is handed out only once (Buffer::claim). Room is
// allocated when a result of concatenation along this axis is concatenated to again, and grows in
// proportion, so that n appends copy O(n) elements.
#pragma once

#include <cstddef>

#include "pippin/mx/core/node.h"

namespace pippin::mx {

// Allocates `out`'s storage. Returns the first input that still has to be copied there: 0 or 1.
size_t begin_append(Node& out, size_t axis);

}  // namespace pippin::mx
