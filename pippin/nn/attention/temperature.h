// A scale of queries that grows with their position, so that attention stays sharp in long texts.
#pragma once

#include "pippin/array/array.h"
#include "pippin/mil/data_type.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

// At position p a query is multiplied with log(floor((p + first) / positions) + 1) * scale + 1, or
// without steps with log(max((p + first) / positions, 1)) * scale + 1.
struct Temperature {
  double positions = 0, scale = 0, first = 1;
  bool steps = true;

  // The factors of a pass, (1, 1, q, 1).
  array::Array factors(const Pass& pass, mil::DataType type) const;
};

}  // namespace pippin::nn
