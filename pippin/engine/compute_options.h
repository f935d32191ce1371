// How programs are computed: the options that whoever loads a model chooses and that every layer
// between passes on as they are.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/base/cpu_features.h"

namespace pippin {
class LoadCache;
}

namespace pippin::engine {

class Device;

enum class Precision : uint8_t {
  Fast,       // as Exact, but kernels may round activations to 8 bits inside quantized products
  Exact,      // fp32 arithmetic on the values that the package stores
  Reference,  // operation by operation with the value rules of the op table, each result rounded to
              // its declared type: slow
};

struct ComputeOptions {
  Precision precision = Precision::Fast;
  CpuFeatures cpu = cpu_features();  // that kernels may use: no more than there is
  // Where arrays that planning computes are kept from one process to the next; null: nowhere.
  std::shared_ptr<LoadCache> cache = nullptr;
  bool fusion = true;  // patterns of operations become one step; false: operation by operation
  std::shared_ptr<Device> device = nullptr;  // where (engine/device.h); null: on the CPU
};

}  // namespace pippin::engine
