// Compressed weights as the package stores them, for the kernels of kernels/quantized_dot/.
#pragma once

#include <memory>

#include "pippin/engine/lowering/builder.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {

// Describes the value of a constexpr op; null where it has a form that the kernels do not know
// (sparse ones, vector palettes, blocks over several inner axes). What it points to lives as long
// as the program and the builder's constants.
std::shared_ptr<const QuantizedWeight> read_quantized_weight(Builder& builder,
                                                             const mil::Operation& operation);

}  // namespace pippin::engine
