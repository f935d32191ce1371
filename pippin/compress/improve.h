// Better codes, scales and palettes after error feedback, which decides each element once and never
// returns to it. Measured is the same error, (w - q) H (w - q)^T summed over the channels.
//
// Each round fits the scales of the blocks, or the palettes, to the codes by least squares over H;
// then each code in turn becomes the best one for all others as they are (coordinate descent, as in
// QuantEase, Behdin et al., 2023), until none changes. Neither increases the error, but
// palettes of many channels are fitted to some of them only (fit_palettes.h).
#pragma once

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/encoder.h"
#include "pippin/compress/error_feedback.h"
#include "pippin/compress/matrix_view.h"

namespace pippin::compress {

// The largest palettes that are fitted: with more entries there is little to gain.
constexpr int kMaxFittedBits = 4;

// Changes the codes, scales and palettes of `result`, a linear form or a palette of single values
// without pruning, and sets its errors. Scales of several channels and zero points remain. With 0
// rounds, only measures.
void improve_codes(const MatrixView& view, const Encoding& encoding, mil::DataType type,
                   const ErrorFeedback& feedback, int rounds, ThreadPool& pool, Encoded& result);

}  // namespace pippin::compress
