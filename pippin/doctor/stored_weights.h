// The weights of a model as they are stored, each once however many constants name it.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::doctor {

struct StoredWeight {
  const mil::Value* value;  // the first constant of it
  std::string name;         // where that stands: "function 'main': const 'w': val"
  uint64_t bytes = 0;
};

// Of the model's own program; constants that lie in weight files, and those that would.
std::vector<StoredWeight> stored_weights(const mil::Model& model);

uint64_t total_bytes(const std::vector<StoredWeight>& weights);

}  // namespace pippin::doctor
