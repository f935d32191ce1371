#include "pippin/engine/weights/quantized_weight.h"

#include <algorithm>
#include <vector>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/weights/block_rows.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {

std::vector<std::byte> expand_weight(const QuantizedWeight& weight, const CpuFeatures& cpu) {
  const kernels::QuantizedMatrix& w = weight.matrix;
  const WeightRows rows(cpu);
  const bool half = weight.type == mil::DataType::Float16;
  const int64_t element = half ? 2 : 4;
  std::vector<std::byte> bytes(static_cast<size_t>(w.n * w.k * element));
  // Pieces of rows: a value may be one long row.
  constexpr int64_t kPiece = 4096;
  const int64_t pieces = ceil_div(w.k, kPiece);
  const auto expand = [&](int64_t begin, int64_t end) {
    std::vector<float> numbers(static_cast<size_t>(std::min(w.k, kPiece)));
    for (int64_t job = begin; job < end; ++job) {
      const int64_t i = job / pieces, from = job % pieces * kPiece;
      const int64_t to = std::min(from + kPiece, w.k);
      std::byte* out = bytes.data() + (i * w.k + from) * element;
      float* target = half ? numbers.data() : reinterpret_cast<float*>(out);
      rows.expand(weight, i, from, to, target);
      if (half) {
        convert_f32_to_f16(reinterpret_cast<const std::byte*>(numbers.data()), out,
                           static_cast<size_t>(to - from));
      }
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 20;  // elements: about a millisecond
  if (w.n * w.k < kWorthSharing) {
    expand(0, w.n * pieces);
  } else {
    ThreadPool pool;
    pool.run([&](int part, int parts) {
      const Range share = split_range(w.n * pieces, part, parts);
      expand(share.begin, share.end);
    });
  }
  return bytes;
}

}  // namespace pippin::engine
