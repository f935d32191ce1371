// The kernels of kernels.inc. Included by files that are compiled for one instruction set: no
// inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

struct PeakKernel {
  const char* name;
  int64_t operations;  // per step
  // Runs `steps` steps on registers alone. The result depends on all of them.
  int32_t (*int8_dot)(int64_t steps) noexcept;
};

struct FloatPeakKernel {
  const char* name;
  int64_t operations;                    // per step
  float (*dot)(int64_t steps) noexcept;  // as int8_dot
};

#define PIPPIN_PEAK(flag, name) extern const PeakKernel name;
#define PIPPIN_FLOAT_PEAK(flag, name) extern const FloatPeakKernel name;
#include "pippin/kernels/peak/kernels.inc"
#undef PIPPIN_PEAK
#undef PIPPIN_FLOAT_PEAK

}  // namespace pippin::kernels
