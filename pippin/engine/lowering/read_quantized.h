// Compressed weights in the package's form, for the kernels of kernels/quantized_dot/.
#pragma once

#include <memory>

#include "pippin/engine/lowering/builder.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {

// Describes the value of a constexpr op; null if the kernels do not support its form (sparse ones,
// vector palettes, blocks over several inner axes). Its pointers are valid as long as the program
// and the builder's constants.
std::shared_ptr<const QuantizedWeight> read_quantized_weight(Builder& builder,
                                                             const mil::Operation& operation);

}  // namespace pippin::engine
