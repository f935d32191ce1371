// What the kernel families have in common.
//
// A kernel is a pure noexcept function on raw memory: it allocates nothing, checks nothing and
// knows nothing of models. Each family is a folder: kernels.inc lists its kernels, best first;
// <family>.h declares them and a chooser; one file per instruction set holds the code; the scalar
// version always exists and is the reference that tests compare the others with.
// To add a kernel: write it in the file of its instruction set and add its line to kernels.inc; the
// chooser, the test and the benchmark find it there.
#pragma once

#include <cstdint>
#include <span>

#include "pippin/base/cpu_features.h"

namespace pippin::kernels {

// The flag of CpuFeatures that a kernel needs; null for scalar code.
using Needs = bool CpuFeatures::*;

inline bool can_run(Needs needs, const CpuFeatures& cpu) {
  return needs == nullptr || cpu.*needs;
}

}  // namespace pippin::kernels
