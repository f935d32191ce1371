// Fusions of the device: several nodes of a finished list become one (engine::FusedNode).
#pragma once

#include "pippin/engine/nodes/node_plan.h"

namespace pippin::cuda {

// Replaces
//   rms_norm · product(s) · gate                a norm that only these products read; the gate of
//                                               two products that only it reads; either is optional
//   rotary · rotary · copy · copy ...           that do not depend on each other, but for copies of
//                                               what a rotary embedding computed, if nothing else
//                                               reads it
// where nodes follow one another. The order of work stays the same, so memory is shared as before.
engine::NodePlan fuse_nodes(engine::NodePlan plan);

}  // namespace pippin::cuda
