// Linear quantization kernels for this machine's processor.
#pragma once

#include "pippin/base/cpu_features.h"
#include "pippin/kernels/quantize/quantize.h"

namespace pippin::compress {

inline const kernels::QuantizeKernels& kernels_here() {
  static const kernels::QuantizeKernels& chosen = kernels::choose_quantize(cpu_features());
  return chosen;
}

}  // namespace pippin::compress
