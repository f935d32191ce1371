// Weights of products laid out for the CPU's kernels for many rows, once for all runs.
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

// Whether products of so many rows take them.
bool takes_panels(int64_t rows);

// Nothing where kernels take the weight, of any type of floats, as it is, or where there is no
// cache that keeps the panels.
std::optional<DotPanels> dot_panels(const PlainWeight& weight, mil::Opset opset, LoadCache* cache,
                                    const CpuFeatures& cpu);

}  // namespace pippin::engine
