// Weights of a model that are stored more than once.
#pragma once

#include <vector>

#include "pippin/doctor/stored_weights.h"

namespace pippin::doctor {

struct Duplicate {
  StoredWeight copy, first;
};

// Ignores weights of a few kilobytes. Reads weights completely only if samples of two are equal;
// weights with absent files are not duplicates.
std::vector<Duplicate> duplicate_weights(const mil::Model& model);

}  // namespace pippin::doctor
