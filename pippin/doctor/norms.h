// Norms that square their input as it is: in fp16 the squares of 256 and more are infinite.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct SquaringNorm {
  const mil::Operation* squares;  // pow, mul, square, reduce_sum_square
  const mil::Var* x;              // what is squared
  double limit;                   // the largest |x| whose squares, and their sum where that is
                                  // taken, are finite in fp16
};

// Those of fp16 whose input nothing has scaled down (by its own largest value, say).
std::vector<SquaringNorm> squaring_norms(const FunctionView& function);

}  // namespace pippin::doctor
