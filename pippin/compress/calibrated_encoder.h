// The encoding of a weight with known inputs: see error_feedback.h and improve.h.
#pragma once

#include <optional>
#include <string>

#include "pippin/compress/encoder.h"
#include "pippin/compress/input_statistics.h"

namespace pippin::compress {

// Whether error feedback can process a weight of these sizes in this form along its rows: linear
// forms and palettes, without pruning, of matrices.
bool can_calibrate(const Dims& dims, const Encoding& encoding);

// Like encode(); moments.size is the size of the input axis. After error feedback, the codes are
// improved in `rounds` rounds (improve.h).
Encoded encode_calibrated(ByteSpan bytes, mil::DataType type, const Dims& dims,
                          const Encoding& encoding, const InputMoments& moments, int rounds,
                          ThreadPool& pool);

}  // namespace pippin::compress
