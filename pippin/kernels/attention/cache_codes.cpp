#include "pippin/kernels/attention/cache_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "pippin/base/numbers/float16.h"

namespace pippin::kernels {
namespace {

// The smallest fp16 number at least as large as x; infinity beyond them.
float16 fp16_from_above(float x) {
  float16 half = to_float16(x);
  if (to_float(half) < x) ++half.bits;  // the next larger one
  return half;
}

// Codes of a group, at most `most` in magnitude, in `codes`. Returns the scale.
template <typename Store>
float16 quantize_group(const float* x, int64_t count, float most, const Store& store) {
  int32_t bits = 0;  // magnitudes are in the order of their bits, infinities and NaNs last
  for (int64_t i = 0; i < count; ++i) {
    bits = std::max(bits, std::bit_cast<int32_t>(x[i]) & 0x7fffffff);
  }
  const auto largest = std::bit_cast<float>(bits);
  const float16 scale = fp16_from_above(largest / most);
  if (!std::isfinite(largest) || !std::isfinite(to_float(scale))) {
    for (int64_t i = 0; i < count; ++i) store(i, 0);
    return to_float16(NAN);
  }
  const float inverse = largest == 0 ? 0 : 1 / to_float(scale);
  for (int64_t i = 0; i < count; ++i) {
    constexpr float kRound = 12582912;  // adding 1.5 * 2^23 rounds to the nearest integer
    const float code = (x[i] * inverse + kRound) - kRound;
    store(i, static_cast<int32_t>(std::clamp(code, -most, most)));
  }
  return scale;
}

}  // namespace

int64_t code_group(CacheType cache, int64_t dims) {
  if (cache == CacheType::Q8 && dims % 64 == 0) return 64;
  return dims % 32 == 0 ? 32 : dims;
}

int64_t code_bytes(CacheType cache, int64_t dims) {
  if (cache == CacheType::Q8) return dims;
  return cache == CacheType::Q4 && dims % 2 == 0 ? dims / 2 : 0;
}

void write_codes(CacheType cache, const float* row, int64_t dims, uint8_t* codes,
                 uint16_t* scales) {
  const int64_t group = code_group(cache, dims), half = dims / 2;
  for (int64_t first = 0; first < dims; first += group) {
    float16 scale;
    if (cache == CacheType::Q8) {
      scale = quantize_group(row + first, group, 127, [&](int64_t i, int32_t code) {
        codes[first + i] = static_cast<uint8_t>(code);
      });
    } else {
      scale = quantize_group(row + first, group, 7, [&](int64_t i, int32_t code) {
        const int64_t at = first + i;
        const auto bits = static_cast<uint8_t>(code + 8);
        // Low halves come first: they replace the byte.
        if (at < half) {
          codes[at] = bits;
        } else {
          codes[at - half] = static_cast<uint8_t>(codes[at - half] | bits << 4);
        }
      });
    }
    *scales++ = scale.bits;
  }
}

float read_code(CacheType cache, const uint8_t* codes, const uint16_t* scales, int64_t group,
                int64_t dims, int64_t i) {
  const float scale = to_float(float16{scales[i / group]});
  if (cache == CacheType::Q8) return scale * static_cast<float>(static_cast<int8_t>(codes[i]));
  const int64_t half = dims / 2;
  const int bits = i < half ? codes[i] & 15 : codes[i - half] >> 4;
  return scale * static_cast<float>(bits - 8);
}

void rotate_row(float* row, int64_t dims) {
  const int64_t block = dims & -dims;
  const float root = 1 / std::sqrt(static_cast<float>(block));
  for (int64_t first = 0; first < dims; first += block) {
    float* const x = row + first;
    for (int64_t half = 1; half < block; half *= 2) {
      for (int64_t pair = 0; pair < block; pair += 2 * half) {
        for (int64_t i = pair; i < pair + half; ++i) {
          const float a = x[i], b = x[i + half];
          x[i] = a + b;
          x[i + half] = a - b;
        }
      }
    }
    for (int64_t i = 0; i < block; ++i) x[i] *= root;
  }
}

}  // namespace pippin::kernels
