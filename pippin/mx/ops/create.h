// New arrays: filled, counting, with ones on a diagonal, windows.
//
// A shape with a negative size throws InvalidArgument, and one of more than 2^48 elements
// LimitExceeded.
#pragma once

#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns an array of `shape` filled with `value`, which is broadcast and converted to `dtype`
// (default: its own). Throws InvalidArgument if `value` cannot be broadcast to `shape`.
PIPPIN_API array full(const Shape& shape, const array& value, Dtype dtype);
PIPPIN_API array full(const Shape& shape, const array& value);
// Returns an array of a's shape filled with `value`; of a's type unless `dtype` is given.
PIPPIN_API array full_like(const array& a, const array& value);
PIPPIN_API array full_like(const array& a, const array& value, Dtype dtype);
// Returns an array of `shape` filled with one number: int32, float32 or bool by default
// (default_dtype()).
template <Scalar T>
array full(const Shape& shape, T value, Dtype dtype = default_dtype<T>()) {
  return full(shape, array(value, dtype));
}
// Returns an array of a's shape and type filled with one number.
template <Scalar T>
array full_like(const array& a, T value) {
  return full(a.shape(), array(value, a.dtype()));
}
// Returns an array of zeros.
PIPPIN_API array zeros(const Shape& shape, Dtype dtype = float32);
// Returns zeros of a's shape and type.
PIPPIN_API array zeros_like(const array& a);
// Returns an array of ones.
PIPPIN_API array ones(const Shape& shape, Dtype dtype = float32);
// Returns ones of a's shape and type.
PIPPIN_API array ones_like(const array& a);

// Returns start, start + step, ... up to `stop` (excluded): a vector of ceil((stop - start) / step)
// numbers, none if `stop` is not in the direction of `step`. Defaults: start 0, step 1; float32, or
// int32 if all arguments are ints. The elements of an integer type count from start by step with
// their fractions cut off. Throws InvalidArgument if a number is NaN, start or stop is infinite,
// the step is 0, there are more than 2^31 - 1 numbers, or for bool and complex64.
PIPPIN_API array arange(double start, double stop, double step, Dtype dtype);
PIPPIN_API array arange(double start, double stop, double step = 1);
PIPPIN_API array arange(double start, double stop, Dtype dtype);
PIPPIN_API array arange(double stop, Dtype dtype);
PIPPIN_API array arange(double stop);
PIPPIN_API array arange(int start, int stop, int step = 1);
PIPPIN_API array arange(int stop);
// Returns `num` evenly spaced numbers from start to stop, both included, computed in float64.
// Throws InvalidArgument for a negative `num`.
PIPPIN_API array linspace(double start, double stop, int num = 50, Dtype dtype = float32);

// Returns an (n, m) matrix (m: n by default) with ones on diagonal k (0: the main one, above it if
// positive), and zeros elsewhere. Throws InvalidArgument for negative sizes.
PIPPIN_API array eye(int n, int m, int k, Dtype dtype = float32);
PIPPIN_API array eye(int n, Dtype dtype = float32);
// Returns the (n, n) identity matrix.
PIPPIN_API array identity(int n, Dtype dtype = float32);
// Returns an (n, m) matrix with ones at and below diagonal k, and zeros above it.
PIPPIN_API array tri(int n, int m, int k, Dtype dtype = float32);
// Returns x[..., n, m] with zeros above diagonal k of its last two axes. Throws InvalidArgument for
// fewer than two axes.
PIPPIN_API array tril(const array& x, int k = 0);
// Returns x[..., n, m] with zeros below diagonal k of its last two axes. Throws InvalidArgument for
// fewer than two axes.
PIPPIN_API array triu(const array& x, int k = 0);

// Returns a Hann window, 0.5 - 0.5 cos(2π i / (m - 1)): m numbers, float32; empty for m < 1, and
// {1} for m = 1.
PIPPIN_API array hanning(int m);
// Returns a Hamming window, 0.54 - 0.46 cos(2π i / (m - 1)): m numbers, float32.
PIPPIN_API array hamming(int m);
// Returns a Bartlett (triangular) window, 1 - |2i / (m - 1) - 1|: m numbers, float32.
PIPPIN_API array bartlett(int m);
// Returns a Blackman window, 0.42 - 0.5 cos(2π i / (m - 1)) + 0.08 cos(4π i / (m - 1)): m numbers,
// float32.
PIPPIN_API array blackman(int m);

// Returns a coordinate array for each of n vectors. With "ij", array i varies along axis i, and
// each has the shape (size 0, size 1, ...); with "xy" the first two axes are swapped. `sparse`
// leaves the other axes at size 1. Throws InvalidArgument for another `indexing`.
PIPPIN_API std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse = false,
                                       const std::string& indexing = "xy");

}  // namespace pippin::mx
