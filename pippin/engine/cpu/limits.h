// Limits of the CPU's steps, for rules that have another way.
#pragma once

#include "pippin/engine/nodes/planes.h"

namespace pippin::engine {

// Whether the working memory of a WindowNode stays small for an x of that shape: windows that reach
// far do not.
bool fits_windows(const Windows& windows, const View& x);

}  // namespace pippin::engine
