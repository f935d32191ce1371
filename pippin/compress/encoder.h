// The encoding of a whole weight, on all threads of a pool.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/buffer.h"
#include "pippin/compress/encoding.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

struct Encoded {
  Buffer codes;                  // one byte per element that is kept; Plain: none
  Buffer packed;                 // or the codes as the file has them
  std::vector<float> scales;     // Linear, per block, as the type stores them; or of palettes
  std::vector<uint8_t> offsets;  // Linear, per block
  std::vector<float> luts;       // Palette, 2^bits entries per palette, integers of int8_lut too
  std::vector<uint8_t> mask;     // one byte (0, 1) per element; empty without pruning
  double squared_error = 0, energy = 0;
  double output_error = 0;  // with known inputs: of the products with them, relative to others
};

// `bytes` are the packed elements of a weight of `type`, Float16 or Float32. Polls check_cancel().
Encoded encode(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding,
               ThreadPool& pool);

}  // namespace pippin::compress
