#include "pippin/nn/attention/alibi.h"

#include <bit>
#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/numbers/float16.h"

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

// By key position. A term common to a whole row does not change the softmax.
array::Array rounded_table(const AlibiOptions& options, int64_t context, mil::DataType type) {
  std::vector<double> values;
  for (const double slope : options.slopes) {
    for (int64_t key = 0; key < context; ++key) {
      const double position = rounded(static_cast<double>(key));
      values.push_back(options.scale * rounded(rounded(slope) * position));
    }
  }
  const auto heads = static_cast<int64_t>(options.slopes.size());
  return array::constant(type, {1, heads, 1, context}, values, "alibi_table");
}

array::Array biased(const AlibiOptions& options, const array::Array& mask,
                    const array::Array& distances) {
  std::vector<double> slopes = options.slopes;
  for (double& slope : slopes) slope *= -options.scale;
  const auto heads = static_cast<int64_t>(slopes.size());
  const mil::DataType type = mask.type();
  const array::Array distance = array::cast(distances, type);
  const array::Array bias = distance * array::constant(type, {1, heads, 1, 1}, slopes, "slopes");
  return array::named(bias + mask, "mask");
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
  std::vector<double> all = powers(next, max / static_cast<double>(next));
  if (next == num_heads) return all;
  std::vector<double> slopes;
  for (size_t i = 1; i < all.size(); i += 2) slopes.push_back(all[i]);
  for (size_t i = 0; i < all.size(); i += 2) slopes.push_back(all[i]);
  slopes.resize(static_cast<size_t>(num_heads));
  return slopes;
}

array::Array alibi_mask(const AlibiOptions& options, int64_t context, const Pass& pass) {
  const array::Scope scope("alibi");
  if (options.rounded) {
    const array::Array table = rounded_table(options, context, pass.mask.type());
    return array::named(array::slice_axis(table, 3, 0, pass.end) + pass.mask, "mask");
  }
  return biased(options, pass.mask, key_distances(pass));
}

array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances) {
  const array::Scope scope("alibi");
  if (!options.rounded) return biased(options, mask, distances);
  return array::named(rounded_table(options, context, mask.type()) + mask, "mask");
}

array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances, const array::Array& key_positions) {
  const array::Scope scope("alibi");
  if (!options.rounded) return biased(options, mask, distances);
  const array::Array rows =
      array::minimum(array::maximum(key_positions, array::constant(int32_t{0})),
                     array::constant(static_cast<int32_t>(context - 1)));
  const array::Array table = rounded_table(options, context, mask.type());
  const array::Array biases = array::transpose(array::gather(table, rows, 3), {0, 1, 3, 2});
  return array::named(biases + mask, "mask");
}

}  // namespace pippin::nn
