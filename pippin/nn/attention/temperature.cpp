#include "pippin/nn/attention/temperature.h"

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

// In fp32: positions need more digits than fp16 has.
Array Temperature::factors(const Pass& pass, mil::DataType type) const {
  const array::Scope scope("temperature");
  array::Builder& builder = array::Builder::current();
  const Array places = array::range(builder.dim_array(pass.past), builder.dim_array(pass.end));
  const Array numbers = array::cast(places, mil::DataType::Float32) + first;
  const Array counted = array::constant(mil::DataType::Float32, positions);
  const Array quotients =
      steps ? array::floor_divide(numbers, counted) + 1.0 : array::maximum(numbers / counted, 1.0);
  const Array logs = array::record_one("log", {{"x", quotients}});
  const Array factors = array::cast(logs * scale + 1.0, type);
  return array::named(array::expand_dims(factors, {0, 1, 3}), "factors");
}

}  // namespace pippin::nn
