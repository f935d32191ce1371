// The weights of a model by type.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "pippin/mil/model.h"

namespace pippin::mil {

struct WeightGroup {
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;  // as stored
};

struct WeightCounts {
  std::map<DataType, WeightGroup> groups;
  uint64_t bytes = 0;
  std::set<std::string> absent_files;
};

// Constants of at least 10 elements, of the model and of the stages of a pipeline. A weight counts
// once, however many constants share it.
WeightCounts count_weights(const Model& model);

}  // namespace pippin::mil
