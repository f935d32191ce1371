// The families of lowering rules beyond those of rules.h.
#pragma once

#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {

void add_map_rules(Rules& rules);
void add_move_rules(Rules& rules);
void add_norm_rules(Rules& rules);
void add_recurrent_rules(Rules& rules);
void add_reduction_rules(Rules& rules);
void add_sample_rules(Rules& rules);
void add_scan_rules(Rules& rules);
void add_spatial_rules(Rules& rules);
void add_suppression_rules(Rules& rules);

// An operation of one tensor of integers; throws Unsupported where there is no function for it.
void integer_map(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
