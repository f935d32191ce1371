// Limits of the CPU's steps, for rules that have an alternative.
#pragma once

#include "pippin/engine/nodes/planes.h"

namespace pippin::engine {

// Whether the working memory of a WindowNode stays small for an x of that shape; it does not for
// windows of large extent.
bool fits_windows(const Windows& windows, const View& x);

}  // namespace pippin::engine
