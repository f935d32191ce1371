#include "pippin/nn/alibi.h"

#include <bit>
#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/float16.h"

namespace pippin::nn {
namespace {

double rounded(double value) {
  return to_float(to_bfloat16(static_cast<float>(value)));
}

std::vector<double> powers(int64_t count, double exponent) {
  std::vector<double> slopes;
  for (int64_t i = 1; i <= count; ++i) {
    slopes.push_back(std::exp2(-exponent * static_cast<double>(i)));
  }
  return slopes;
}

}  // namespace

std::vector<double> alibi_slopes(int64_t num_heads) {
  const auto closest = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<double> slopes = powers(closest, 8.0 / static_cast<double>(closest));
  const std::vector<double> finer =
      powers(2 * (num_heads - closest), 4.0 / static_cast<double>(closest));
  for (size_t i = 0; i < finer.size(); i += 2) slopes.push_back(finer[i]);
  return slopes;
}

std::vector<double> mpt_alibi_slopes(int64_t num_heads, double max) {
  const auto next = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(num_heads)));
  const std::vector<double> all = powers(next, max / static_cast<double>(next));
  if (next == num_heads) return all;
  std::vector<double> slopes;
  for (size_t i = 1; i < all.size(); i += 2) slopes.push_back(all[i]);
  for (size_t i = 0; i < all.size(); i += 2) slopes.push_back(all[i]);
  slopes.resize(static_cast<size_t>(num_heads));
  return slopes;
}

array::Array alibi_mask(const AlibiOptions& options, int64_t context, const Pass& pass) {
  const array::Scope scope("alibi");
  const mil::DataType type = pass.mask.type();
  const auto heads = static_cast<int64_t>(options.slopes.size());
  if (options.rounded) {
    // By key position. What a whole row has in common does not count.
    std::vector<double> values;
    for (const double slope : options.slopes) {
      for (int64_t key = 0; key < context; ++key) {
        const double position = rounded(static_cast<double>(key));
        values.push_back(options.scale * rounded(rounded(slope) * position));
      }
    }
    const array::Array table = array::constant(type, {1, heads, 1, context}, values, "alibi_table");
    return array::named(array::slice_axis(table, 3, 0, pass.end) + pass.mask, "mask");
  }
  std::vector<double> slopes = options.slopes;
  for (double& slope : slopes) slope *= -options.scale;
  const array::Array distance = array::cast(key_distances(pass), type);
  const array::Array bias = distance * array::constant(type, {1, heads, 1, 1}, slopes, "slopes");
  return array::named(bias + pass.mask, "mask");
}

}  // namespace pippin::nn
