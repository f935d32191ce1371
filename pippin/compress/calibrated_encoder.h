// The encoding of a weight whose inputs are known: see error_feedback.h.
#pragma once

#include <optional>
#include <string>

#include "pippin/compress/encoder.h"
#include "pippin/compress/input_statistics.h"

namespace pippin::compress {

// Whether a weight of these sizes in this form has rows of single values that error feedback can
// go along: linear forms and palettes, not pruned, of matrices.
bool can_calibrate(const Dims& dims, const Encoding& encoding);

// As encode(), with moments.size the size of the input axis.
Encoded encode_calibrated(ByteSpan bytes, mil::DataType type, const Dims& dims,
                          const Encoding& encoding, const InputMoments& moments, ThreadPool& pool);

}  // namespace pippin::compress
