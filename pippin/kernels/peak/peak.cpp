#include "pippin/kernels/peak/peak.h"

namespace pippin::kernels {

const PeakKernel* choose_peak([[maybe_unused]] const CpuFeatures& cpu) {
#define PIPPIN_PEAK(flag, name) \
  if (cpu.flag) return &(name);
#define PIPPIN_FLOAT_PEAK(flag, name)
#include "pippin/kernels/peak/kernels.inc"
#undef PIPPIN_PEAK
#undef PIPPIN_FLOAT_PEAK
  return nullptr;
}

const FloatPeakKernel* choose_float_peak([[maybe_unused]] const CpuFeatures& cpu) {
#define PIPPIN_PEAK(flag, name)
#define PIPPIN_FLOAT_PEAK(flag, name) \
  if (cpu.flag) return &(name);
#include "pippin/kernels/peak/kernels.inc"
#undef PIPPIN_PEAK
#undef PIPPIN_FLOAT_PEAK
  return nullptr;
}

}  // namespace pippin::kernels
