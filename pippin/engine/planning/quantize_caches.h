// Quantized caches: the last change to a list of nodes, before buffers get their places.
#pragma once

#include "pippin/engine/nodes/node_plan.h"

namespace pippin::engine {

// Stores the states that attention reads in a quantized form: each becomes two, named "keyCache
// (q8)" and "keyCache (q8 scales)", the copies into it write codes, and attention reads them.
// Throws Unsupported if attention reads no state, and if another node uses one of these states or a
// view of it does not consist of whole rows.
void quantize_caches(NodePlan& plan, CacheType type);

}  // namespace pippin::engine
