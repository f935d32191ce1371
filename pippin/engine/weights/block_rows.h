// Rows of a QuantizedWeight for computation, whether the package holds codes and scales or a file
// has them in ggml's blocks (kernels/ggml_blocks/). Blocks are unpacked a few rows at a time during
// the product, so that only the file's own bits are read from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {

// The weight of these blocks; its values are declared as `type`.
std::shared_ptr<const QuantizedWeight> block_weight(const kernels::GgmlMatrix& blocks,
                                                    mil::DataType type);

class WeightRows {
 public:
  explicit WeightRows(const CpuFeatures& cpu);

  const kernels::QuantizedDotKernels& kernels() const { return kernels_; }

  // Elements [begin, end) of row i.
  void expand(const QuantizedWeight& weight, int64_t i, int64_t begin, int64_t end,
              float* y) const noexcept;
  // Like the kernels' dot; args.w is the weight's matrix, and `memory` has unpacked_bytes(weight),
  // aligned to 64.
  void dot(const QuantizedWeight& weight, const kernels::QuantizedDotArgs& args,
           std::byte* memory) const noexcept;
  // For each thread that runs dot(); 0 for weights that are not in blocks.
  static int64_t unpacked_bytes(const QuantizedWeight& weight);

 private:
  const kernels::QuantizedDotKernels& kernels_;
  const kernels::GgmlBlockKernels& blocks_;
};

}  // namespace pippin::engine
