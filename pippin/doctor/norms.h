// Norms that square their unscaled input: in fp16 the squares of 256 and more are infinite.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct SquaringNorm {
  const mil::Operation* squares;  // pow, mul, square, reduce_sum_square
  const mil::Var* x;              // the value to be squared
  double limit;  // the largest |x| whose squares (and their sum, if used) are finite in fp16
};

// fp16 norms whose input is not scaled down before (by its own largest value, for example).
std::vector<SquaringNorm> squaring_norms(const FunctionView& function);

}  // namespace pippin::doctor
