// Weights of products packed for the CPU's many-row kernels, once for all runs.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/engine/weights/cached_array.h"
#include "pippin/engine/weights/e4m7_weight.h"

namespace pippin::engine {

struct DotPanels {
  SharedBytes bytes;  // fp32
  int64_t rows = 0;   // n rounded up to the kernel's grain
};

// Whether products of that many rows use them.
bool takes_panels(int64_t rows);

// Nothing if kernels take the weight as it is, in any type of floats, or if no cache keeps the
// panels.
std::optional<DotPanels> dot_panels(const PlainWeight& weight, mil::Opset opset, LoadCache* cache,
                                    const CpuFeatures& cpu);

}  // namespace pippin::engine
