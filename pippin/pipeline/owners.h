// Which group of ranks has which part of a state.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pippin/pipeline/cut.h"

namespace pippin::pipeline {

// By state: the group that has each slice of the first axis; -1: none.
using Owners = std::map<std::string, std::vector<int>>;

// Adds the slices that the stages touch. Throws Unsupported if two groups touch the same.
void add_owners(const engine::NodePlan& plan, const std::vector<Stage>& stages, Owners& owners);

}  // namespace pippin::pipeline
