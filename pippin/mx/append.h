// Concatenation that grows: where an array is concatenated behind another again and again, as a
// model's cache is, what is there already stays where it is.
//
//   [ used by arrays ......... | spare ]   for each index of the axes outside the one that grows
//
// The first array's elements lie in a buffer with spare room behind them along the axis. The result
// is a longer view of the same buffer, and only the new elements are written. Older views of it
// stay as they were: nobody reads behind their end, and the room is given out once (Buffer::claim).
// Room is made when an array that came from a concatenation along this axis is concatenated to
// again, and grows in proportion, so that n appends copy O(n) elements.
#pragma once

#include <cstddef>

#include "pippin/mx/node.h"

namespace pippin::mx {

// Gives `out` its storage. Returns the first input that still has to be copied there: 0 or 1.
size_t begin_append(Node& out, size_t axis);

}  // namespace pippin::mx
