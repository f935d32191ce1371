// Options of the computation: chosen by the code that loads a model, passed on unchanged by all
// layers.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/base/cpu_features.h"

namespace pippin {
class LoadCache;
}

namespace pippin::engine {

class Device;

// The precision of computations.
enum class Precision : uint8_t {
  Fast,       // as Exact, but kernels may round activations to 8 bits inside quantized products,
              // and in language models with such products the factors of attention with many
              // queries to bf16
  Exact,      // fp32 arithmetic on the values that the package stores
  Reference,  // operation by operation with the value rules of the op table, each result rounded to
              // its declared type: slow
};

// When a model runs on the CPU in place of its device: as a whole, because its plans share states,
// and with a warning (engine/fallback.h).
enum class Fallback : uint8_t {
  Never,     // opening it throws
  NoKernel,  // an operation has no kernel on the device
  Always,    // any reason: also too little memory of the device, or a failure of it
};

// The options of computations.
struct ComputeOptions {
  Precision precision = Precision::Fast;  // the precision of computations
  CpuFeatures cpu = cpu_features();       // what kernels may use; at most what the machine has
  // Keeps arrays that planning computes from one process to the next; null: they are not kept.
  std::shared_ptr<LoadCache> cache = nullptr;
  // A row of a product with plain weights is batch-invariant: it has the same bits for any number
  // of rows, so that a token of a prompt has the same result as alone. Slower; sequences need it.
  bool batch_invariant = false;
  bool fusion = true;                        // combine patterns of operations into one step
  std::shared_ptr<Device> device = nullptr;  // engine/device.h; null: the CPU
  Fallback fallback = Fallback::Never;       // when the CPU takes the place of `device`
};

}  // namespace pippin::engine
