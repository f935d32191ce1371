#include "pippin/nn/pass.h"

#include <limits>

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

array::Array window_mask(const Pass& pass, int64_t window) {
  const array::Scope scope("window");
  const array::Array inside =
      array::less(key_distances(pass), array::constant(static_cast<int32_t>(window)));
  const array::Array hidden =
      array::constant(pass.mask.type(), -std::numeric_limits<double>::infinity());
  return array::named(array::select(inside, pass.mask, hidden), "mask");
}

}  // namespace pippin::nn
