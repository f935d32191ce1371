// The groups of rules, each in the file with its name.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

using RuleGroup = const Group&();
RuleGroup version_rules, compression_rules, type_rules, shape_rules, flexible_shape_rules,
    operation_rules, gather_rules, layout_rules, mask_rules, norm_rules, overflow_rules,
    epsilon_rules, rank_rules, state_rules, size_rules, weight_rules, package_rules;

// In report order.
std::vector<const Group*> groups();

}  // namespace pippin::doctor
