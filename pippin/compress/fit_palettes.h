// Palettes by least squares: the entries with the smallest output error for the present codes.
#pragma once

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/rows_of_codes.h"

namespace pippin::compress {

// For palettes of single values, at most kMaxFittedBits. A palette is replaced only if that lowers
// the error; then its codes are renumbered if the entries' order changed. Palettes of very many
// channels are fitted to some of them, spread evenly.
void fit_palettes(const CodedMatrix& of, ThreadPool& pool);

}  // namespace pippin::compress
