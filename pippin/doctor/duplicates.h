// Weights of a model that are stored more than once.
#pragma once

#include <vector>

#include "pippin/doctor/stored_weights.h"

namespace pippin::doctor {

struct Duplicate {
  StoredWeight copy, first;
};

// Of some size: those of a few kilobytes are not worth a word. Reads weights whole only where
// samples of two are equal; those whose files are absent are no duplicates.
std::vector<Duplicate> duplicate_weights(const mil::Model& model);

}  // namespace pippin::doctor
