// The stored weights of a model, each once however many constants use it.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::doctor {

struct StoredWeight {
  const mil::Value* value;  // the first constant that uses it
  std::string name;         // that constant's place: "function 'main': const 'w': val"
  uint64_t bytes = 0;
};

// For the model's own program; constants in weight files, and those that would be written to one.
std::vector<StoredWeight> stored_weights(const mil::Model& model);

uint64_t total_bytes(const std::vector<StoredWeight>& weights);

}  // namespace pippin::doctor
