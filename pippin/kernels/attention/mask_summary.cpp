// Summarizes each chunk of a mask in two numbers.
#include <algorithm>
#include <limits>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/attention/attention.h"
#include "pippin/kernels/attention/sizes.h"

namespace pippin::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Writes the smallest and the largest of `count` floats.
void write_extremes(const float* x, int64_t count, int64_t stride, float* to) {
  constexpr int64_t kLanes = 16;  // independent, so that the compiler vectorizes
  float low[kLanes], high[kLanes];
  std::fill_n(low, kLanes, kInf);
  std::fill_n(high, kLanes, -kInf);
  int64_t numbers = 0, i = 0;
  if (stride == 1) {
    int32_t same[kLanes] = {};  // NaN is not equal to itself
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) {
        const float value = x[i + j];
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
        same[j] += value == value ? 1 : 0;
      }
    }
    for (const int32_t lane : same) numbers += lane;
  }
  for (; i < count; ++i) {
    const float value = x[i * stride];
    low[0] = std::min(low[0], value);
    high[0] = std::max(high[0], value);
    numbers += value == value ? 1 : 0;
  }
  to[0] = -kInf;
  to[1] = kInf;
  if (numbers != count) return;
  to[0] = *std::min_element(low, low + kLanes);
  to[1] = *std::max_element(high, high + kLanes);
}

}  // namespace

int64_t mask_chunks(int64_t keys) {
  return (keys + kChunk - 1) / kChunk;
}

void summarize_mask(ThreadPool& pool, const MaskArgs& a) {
  const int64_t chunks = mask_chunks(a.keys), count = a.heads * a.rows;
  const auto run = [&](int part, int parts) {
    const Range rows = split_range(count, part, parts);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int64_t head = i / a.rows, row = i % a.rows;
      const float* mask = a.mask + head * a.head_stride + row * a.row_stride;
      float* to = a.summary + head * a.summary_head_stride + row * a.summary_row_stride;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t begin = chunk * kChunk;
        write_extremes(mask + begin * a.key_stride, std::min(kChunk, a.keys - begin), a.key_stride,
                       to + 2 * chunk);
      }
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 16;  // entries
  if (count * a.keys < kWorthSharing) {
    run(0, 1);
  } else {
    pool.run(run);
  }
}

}  // namespace pippin::kernels
