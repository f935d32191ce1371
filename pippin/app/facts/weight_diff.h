// Differences between the weights of two programs, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::app {

// A weight that differs. Its form is its stored type, with the operation that expands it, and its
// dimensions; empty where the model lacks the weight.
struct WeightChange {
  std::string name;
  std::string form_a, form_b;
  bool has_error = false;     // both have it, with as many elements
  double relative_error = 0;  // the root of the mean square of b - a, relative to that of a
  double largest_error = 0;   // of |b - a|
};

struct WeightDiff {
  int64_t equal = 0;                  // weights of equal form and values
  std::vector<WeightChange> changes;  // the largest relative errors first, then others by name
  uint64_t bytes_a = 0, bytes_b = 0;  // as stored, shared ones once
  // Over all weights that both have with as many elements.
  double relative_error = 0;
};

// Compares the values that both programs compute with, compressed weights expanded. `progress` is
// called with the weights done and in total; it may be null. Changes the models: their compressed
// weights become constants.
WeightDiff compare_weights(mil::Model& a, mil::Model& b,
                           const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace pippin::app
