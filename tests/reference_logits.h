// For tests only: the logits of a recorded language model from the reference interpreter, which
// runs the program directly: no plan, no kernels, no fusions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "pippin/engine/reference/reference.h"

namespace pippin {

// Rows of logits of tokens at positions [past, past + ids.size()), which are then in `state`.
inline std::vector<double> reference_logits(const engine::ReferenceInterpreter& interpreter,
                                            engine::ReferenceState& state,
                                            std::span<const int32_t> ids, int64_t past) {
  const auto query = static_cast<int64_t>(ids.size());
  const int64_t end = past + query;
  mil::Tensor tokens(mil::DataType::Int32, {1, query});
  std::copy(ids.begin(), ids.end(), tokens.values.begin());
  mil::Tensor mask(mil::DataType::Float32, {1, 1, query, end});
  for (int64_t row = 0; row < query; ++row) {
    for (int64_t column = past + row + 1; column < end; ++column) {
      mask.values[static_cast<size_t>(row * end + column)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  return interpreter.run({{"inputIds", tokens}, {"causalMask", mask}}, state).at("logits").values;
}

// Infinity if the sizes differ or a value is NaN.
template <typename A, typename B>
double max_difference(const A& a, const B& b) {
  if (std::size(a) != std::size(b)) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < std::size(a); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
  }
  return worst;
}

}  // namespace pippin
