#include "pippin/nn/attention/best_keys.h"

#include <limits>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

Array kth_largest(const Array& scores, int64_t k, const std::string& path) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  // All columns are among the best, however large k is.
  if (k >= scores.dim(3).upper()) return array::constant(scores.type(), kNever);
  const Array row =
      array::constant(scores.type(), {1, 1, 1, k},
                      std::vector<double>(static_cast<size_t>(k), kNever), path + ".none");
  const Array repetitions =
      array::Builder::current().dims_array({1, scores.dim(1), scores.dim(2), 1});
  const Array none = array::record_one("tile", {{"x", row}, {"reps", repetitions}});
  const Array best = array::topk(array::concat({scores, none}, -1), k).values;
  return array::slice_axis(best, -1, k - 1, k);
}

Array best_keys(const Array& scores, int64_t k, const std::string& path) {
  if (k >= scores.dim(3).upper()) return scores;
  const Array least = kth_largest(scores, k, path);
  const Array never = array::constant(scores.type(), -std::numeric_limits<double>::infinity());
  return array::select(array::greater_equal(scores, least), scores, never);
}

}  // namespace pippin::nn
