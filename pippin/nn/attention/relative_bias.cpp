#include "pippin/nn/attention/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

using array::Array;

// In fp32, like training code: at the borders of buckets, the bucket of a distance depends on the
// rounding.
int64_t relative_bucket(const RelativeBiasOptions& options, int64_t distance) {
  const int64_t buckets = options.both_ways ? options.buckets / 2 : options.buckets;
  const int64_t first = options.both_ways && distance > 0 ? buckets : 0;
  const int64_t steps = options.both_ways ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  const int64_t exact = buckets / 2;
  if (steps < exact) return first + steps;
  const float ratio = static_cast<float>(steps) / static_cast<float>(exact);
  const auto range = static_cast<float>(
      std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact)));
  const float place = std::log(ratio) / range * static_cast<float>(buckets - exact);
  return first + std::min(exact + static_cast<int64_t>(place), buckets - 1);
}

RelativeBias::RelativeBias(const Parameters& parameters, const RelativeBiasOptions& options,
                           int64_t context)
    : path_(parameters.path()),
      context_(context),
      table_(parameters.get("weight", {options.buckets, options.heads})) {
  for (int64_t distance = 1 - context; distance < context; ++distance) {
    buckets_.push_back(relative_bucket(options, distance));
  }
}

Array RelativeBias::operator()(const Array& queries, const Array& keys) const {
  const array::Scope scope(path_);
  const Array before = array::squeeze(key_distances(queries, keys), {0, 1});  // (queries, keys)
  const Array place = array::constant(static_cast<int32_t>(context_ - 1)) - before;
  const Array buckets = array::gather(array::constant(buckets_), place);
  const Array rows = array::gather(table_, buckets);  // (queries, keys, heads)
  return array::named(array::expand_dims(array::transpose(rows, {2, 0, 1}), {0}), "bias");
}

}  // namespace pippin::nn
