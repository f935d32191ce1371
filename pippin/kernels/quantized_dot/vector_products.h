// The products of vector_kernels.h for targets where dot4 is one instruction: the includer's, of
// two B.
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
PIPPIN_VEC I add_fours(const NibbleSum (&s)[4]) {
  return add_fours(s[0].sum, s[1].sum, s[2].sum, s[3].sum);
}

}  // namespace
}  // namespace pippin::kernels
