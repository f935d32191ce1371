#include "pippin/nn/layers/pass.h"

#include <limits>
#include <utility>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

array::Array key_distances(const Pass& pass) {
  array::Builder& builder = array::Builder::current();
  const array::Array past = builder.dim_array(pass.past), end = builder.dim_array(pass.end);
  const array::Array queries = array::expand_dims(array::range(past, end), {0, 1, 3});
  const array::Array keys = array::expand_dims(array::range(array::constant(0), end), {0, 1, 2});
  return queries - keys;
}

array::Array key_distances(const array::Array& queries, const array::Array& keys) {
  const array::Array rows = array::expand_dims(queries, {0, 1, 3});
  return rows - array::expand_dims(keys, {0, 1, 2});
}

array::Array window_mask(const array::Array& mask, const array::Array& distances, int64_t window) {
  const array::Array inside = array::less(distances, array::constant(static_cast<int32_t>(window)));
  const array::Array hidden =
      array::constant(mask.type(), -std::numeric_limits<double>::infinity());
  return array::named(array::select(inside, mask, hidden), "mask");
}

array::Array window_mask(const Pass& pass, int64_t window) {
  const array::Scope scope("window");
  array::Array hiding = window_mask(pass.mask, key_distances(pass), window);
  if (!pass.run_starts) return hiding;
  const array::Array end = array::Builder::current().dim_array(pass.end);
  const array::Array keys = array::expand_dims(array::range(array::constant(0), end), {0, 1, 2});
  const array::Array starts = array::expand_dims(*pass.run_starts, {0, 1, 3});
  return array::named(array::select(array::less(keys, starts), hiding, pass.mask), "mask");
}

array::Array causal_mask(const Pass& pass) {
  const array::Scope scope("causal");
  const array::Array later = array::less(key_distances(pass), array::constant(0));
  const array::Array hidden =
      array::constant(pass.mask.type(), -std::numeric_limits<double>::infinity());
  return array::named(array::select(later, hidden, pass.mask), "mask");
}

array::Array chunk_mask(const Pass& pass, int64_t chunk) {
  const array::Scope scope("chunk");
  array::Builder& builder = array::Builder::current();
  const array::Array past = builder.dim_array(pass.past), end = builder.dim_array(pass.end);
  const array::Array size = array::constant(static_cast<int32_t>(chunk));
  const auto blocks = [&](const array::Array& positions, std::vector<int64_t> axes) {
    return array::expand_dims(array::floor_divide(positions, size), std::move(axes));
  };
  const array::Array own = blocks(array::range(past, end), {0, 1, 3});
  const array::Array of_keys = blocks(array::range(array::constant(0), end), {0, 1, 2});
  const array::Array hidden =
      array::constant(pass.mask.type(), -std::numeric_limits<double>::infinity());
  return array::named(array::select(array::equal(own, of_keys), pass.mask, hidden), "mask");
}

}  // namespace pippin::nn
