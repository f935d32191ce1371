// The products of vector_kernels.h where dot4 is one instruction: the includer's, of two B.
#pragma once

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

using Wide = B;
PIPPIN_VEC Wide wide(B w) {
  return w;
}

struct NibbleSum {
  I sum;
  PIPPIN_VEC void start(I first, B w, B x) { sum = dot4(first, w, x); }
  PIPPIN_VEC void add(B w, B x) { sum = dot4(sum, w, x); }
  PIPPIN_VEC I total() const { return sum; }
};

}  // namespace
}  // namespace pippin::kernels
