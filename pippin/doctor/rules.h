// The groups of rules, each in the file with its name.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

const Group& version_rules();
const Group& compression_rules();
const Group& type_rules();
const Group& shape_rules();
const Group& flexible_shape_rules();
const Group& operation_rules();
const Group& gather_rules();
const Group& layout_rules();
const Group& mask_rules();
const Group& norm_rules();
const Group& overflow_rules();
const Group& epsilon_rules();
const Group& rank_rules();
const Group& state_rules();
const Group& size_rules();
const Group& weight_rules();
const Group& package_rules();

// In report order.
std::vector<const Group*> groups();

}  // namespace pippin::doctor
