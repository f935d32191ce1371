// New arrays: filled, counting, with ones on a diagonal, windows.
#pragma once

#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// `value` is broadcast to the shape.
PIPPIN_API array full(const Shape& shape, const array& value, Dtype dtype);
PIPPIN_API array full(const Shape& shape, const array& value);
PIPPIN_API array full_like(const array& a, const array& value);
PIPPIN_API array full_like(const array& a, const array& value, Dtype dtype);
template <Scalar T>
array full(const Shape& shape, T value, Dtype dtype = default_dtype<T>()) {
  return full(shape, array(value, dtype));
}
template <Scalar T>
array full_like(const array& a, T value) {
  return full(a.shape(), array(value, a.dtype()));
}
PIPPIN_API array zeros(const Shape& shape, Dtype dtype = float32);
PIPPIN_API array zeros_like(const array& a);
PIPPIN_API array ones(const Shape& shape, Dtype dtype = float32);
PIPPIN_API array ones_like(const array& a);

// [start, stop) by steps; int32 if all are integers. Throws InvalidArgument if the numbers or their
// count are NaN or too large.
PIPPIN_API array arange(double start, double stop, double step, Dtype dtype);
PIPPIN_API array arange(double start, double stop, double step = 1);
PIPPIN_API array arange(double start, double stop, Dtype dtype);
PIPPIN_API array arange(double stop, Dtype dtype);
PIPPIN_API array arange(double stop);
PIPPIN_API array arange(int start, int stop, int step = 1);
PIPPIN_API array arange(int stop);
// `num` numbers from start to stop, both included.
PIPPIN_API array linspace(double start, double stop, int num = 50, Dtype dtype = float32);

// Ones on diagonal k.
PIPPIN_API array eye(int n, int m, int k, Dtype dtype = float32);
PIPPIN_API array eye(int n, Dtype dtype = float32);
PIPPIN_API array identity(int n, Dtype dtype = float32);
// Ones at and below diagonal k.
PIPPIN_API array tri(int n, int m, int k, Dtype dtype = float32);
// x with zeros above, or below, diagonal k.
PIPPIN_API array tril(const array& x, int k = 0);
PIPPIN_API array triu(const array& x, int k = 0);

// Windows of m numbers, float32.
PIPPIN_API array hanning(int m);
PIPPIN_API array hamming(int m);
PIPPIN_API array bartlett(int m);
PIPPIN_API array blackman(int m);

PIPPIN_API std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse = false,
                                       const std::string& indexing = "xy");

}  // namespace pippin::mx
