#include "pippin/kernels/peak/peak.h"

namespace pippin::kernels {

const PeakKernel* choose_peak([[maybe_unused]] const CpuFeatures& cpu) {
#define PIPPIN_PEAK(flag, name) \
  if (cpu.flag) return &(name);
#include "pippin/kernels/peak/kernels.inc"
#undef PIPPIN_PEAK
  return nullptr;
}

}  // namespace pippin::kernels
