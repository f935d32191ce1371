// Quantized weights as MIL's compressed constants.
#pragma once

#include "pippin/mx/record/recorder.h"

namespace pippin::mx {

// The matrices with these packed codes, scales and biases (all constants), as values of `type`:
// constexpr_blockwise_shift_scale with codes of 4 or 8 bits. If a group's bias is not an integer
// multiple of its scale, its offset has a fraction.
Recorder::Value record_quantized(Recorder& recorder, std::string_view name, const Node& codes,
                                 const Node& scales, const Node& biases, int group_size, int bits,
                                 mil::DataType type);

}  // namespace pippin::mx
