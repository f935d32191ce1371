// Quantized weights as MIL's compressed constants.
#pragma once

#include "pippin/mx/recorder.h"

namespace pippin::mx {

// The matrices whose packed codes, scales and biases are these constants, as values of `type`:
// constexpr_blockwise_shift_scale with codes of 4 or 8 bits. Groups whose bias is no whole number
// of scales have an offset with a fraction.
Recorder::Value record_quantized(Recorder& recorder, std::string_view name, const Node& codes,
                                 const Node& scales, const Node& biases, int group_size, int bits,
                                 mil::DataType type);

}  // namespace pippin::mx
