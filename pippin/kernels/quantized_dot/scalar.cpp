// The reference: element by element.
#include <cmath>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/quantized_dot/quantized_dot.h"

namespace pippin::kernels {
namespace {

float stored(const void* values, WeightType type, int64_t index) {
  if (type == WeightType::F32) return static_cast<const float*>(values)[index];
  const uint16_t bits = static_cast<const uint16_t*>(values)[index];
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

int code_at(const uint8_t* codes, int64_t index, int bits) {
  const int64_t bit = index * bits;
  int window = codes[bit / 8];
  if (bit % 8 + bits > 8) window |= codes[bit / 8 + 1] << 8;
  return window >> (bit % 8) & ((1 << bits) - 1);
}

int sign_extended(int code, int bits) {
  return code >= 1 << (bits - 1) ? code - (1 << bits) : code;
}

float offset_at(const QuantizedMatrix& w, int64_t block) {
  const auto* bytes = static_cast<const uint8_t*>(w.offsets);
  switch (w.offset_type) {
    case OffsetType::None:
      return 0;
    case OffsetType::F32:
      return stored(w.offsets, WeightType::F32, block);
    case OffsetType::F16:
      return stored(w.offsets, WeightType::F16, block);
    case OffsetType::BF16:
      return stored(w.offsets, WeightType::BF16, block);
    case OffsetType::I8:
      return static_cast<float>(sign_extended(bytes[block], 8));
    case OffsetType::U8:
      return bytes[block];
    case OffsetType::I4:
      return static_cast<float>(sign_extended(code_at(bytes, block, 4), 4));
    case OffsetType::U4:
      return static_cast<float>(code_at(bytes, block, 4));
  }
  return 0;
}

int64_t block_at(const QuantizedMatrix& w, int64_t i, int64_t j) {
  return w.first_block + i / w.block_rows * w.blocks_per_row + j / w.block_columns;
}

int element_code(const QuantizedMatrix& w, int64_t i, int64_t j) {
  const int code = code_at(w.codes, w.first + i * w.k + j, w.bits);
  return w.is_signed ? sign_extended(code, w.bits) : code;
}

float affine_value(const QuantizedMatrix& w, int64_t block, int code) {
  const float number = static_cast<float>(code), offset = offset_at(w, block),
              scale = stored(w.scales, w.scale_type, block);
  return w.scaled_offsets ? std::fma(number, scale, -offset) : (number - offset) * scale;
}

void expand(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) noexcept {
  for (int64_t j = begin; j < end; ++j) {
    const int64_t block = block_at(w, i, j);
    const int code = element_code(w, i, j);
    *y++ = w.scales != nullptr ? affine_value(w, block, code)
                               : stored(w.palettes, w.palette_type, (block << w.bits) + code);
  }
}

// The value of row i, column j.
int8_t& value_at(const QuantizedRows& x, int64_t i, int64_t j) {
  const int64_t place = x.order == ValueOrder::Split ? j / 128 * 128 + j % 2 * 64 + j % 128 / 2 : j;
  if (!x.row_pairs) return x.values[i * x.padded + place];
  return x.values[i / 2 * 2 * x.padded + place / 8 * 16 + i % 2 * 8 + place % 8];
}
// Column c of unit u.
int64_t column_of(const QuantizedRows& x, int64_t u, int64_t c) {
  const int64_t together = x.behind / 16;  // units
  return x.unit == 16
             ? u * 16 + c
             : u / together * 2 * x.behind + u % together * 16 + c % 16 + c / 16 * x.behind;
}

void quantize(const float* x, int64_t x_stride, int64_t begin, int64_t end,
              const QuantizedRows& to) noexcept {
  for (int64_t i = begin; i < end; ++i) {
    const float* row = x + i * x_stride;
    const int64_t units = to.padded / to.unit;
    to.totals[i] = 0;
    for (int64_t u = 0; u < units; ++u) {
      float largest = 0;
      bool finite = true;
      for (int64_t c = 0; c < to.unit; ++c) {
        const int64_t j = column_of(to, u, c);
        if (j >= to.k) continue;
        finite = finite && std::isfinite(row[j]);
        largest = std::fabs(row[j]) > largest ? std::fabs(row[j]) : largest;
      }
      const float scale = finite ? largest / 127.0F : std::nanf("");
      // Below this the inverse would overflow: the values become 0.
      const float inverse = finite && largest >= 1e-36F ? 127.0F / largest : 0.0F;
      int sum = 0;
      for (int64_t c = 0; c < to.unit; ++c) {
        const int64_t j = column_of(to, u, c);
        const int value =
            inverse != 0 && j < to.k ? static_cast<int>(std::lrintf(row[j] * inverse)) : 0;
        value_at(to, i, j) = static_cast<int8_t>(value);
        sum += value;
      }
      for (int64_t copy = 0; copy < to.repeat; ++copy) {
        const int64_t at = (i * units + u) * to.repeat + copy;
        to.scales[at] = scale;
        to.sums[at] = scale * static_cast<float>(sum);
        to.starts[at] = -to.center * sum;
      }
      if (to.block > 0) {
        to.block_sums[i * units + u] = 0;
        to.block_sums[i * units + u * to.unit / to.block] += scale * static_cast<float>(sum);
      }
      to.totals[i] += scale * static_cast<float>(sum);
    }
  }
}

// The offsets' contribution to the product of row i of x and row n of W.
double offsets_share(const QuantizedMatrix& w, const QuantizedRows& x, int64_t i, int64_t n) {
  double share = 0;
  for (int64_t b = 0; b < w.blocks_per_row; ++b) {
    const int64_t block = block_at(w, n, 0) + b;
    const double scale = w.scaled_offsets ? 1 : stored(w.scales, w.scale_type, block);
    const float sum = x.block > 0 ? x.block_sums[i * (x.padded / x.unit) + b] : x.totals[i];
    share += scale * double{offset_at(w, block)} * double{sum};
  }
  return share;
}

void dot(const QuantizedDotArgs& a) noexcept {
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t units = x.padded / x.unit;
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t n = a.n_begin; n < a.n_end; ++n) {
      double total = 0;
      for (int64_t u = 0; u < units; ++u) {
        if (column_of(x, u, 0) >= x.k) continue;
        const int64_t block = block_at(w, n, column_of(x, u, 0));
        int sum = 0;
        for (int64_t c = 0; c < x.unit; ++c) {
          const int64_t j = column_of(x, u, c);
          if (j >= x.k) continue;
          int code = element_code(w, n, j);
          if (w.scales == nullptr) {
            const uint8_t* high = w.byte_palettes + block * 2 * byte_palette_stride(w.bits) + code;
            code = 256 * high[0] + high[byte_palette_stride(w.bits)] - 32768;
          }
          sum += code * value_at(x, i, j);
        }
        const double scale =
            w.scales != nullptr ? stored(w.scales, w.scale_type, block) : w.byte_scales[block];
        total += scale * double{x.scales[(i * units + u) * x.repeat]} * sum;
      }
      if (w.offset_type != OffsetType::None) total -= offsets_share(w, x, i, n);
      if (a.bias != nullptr) total += double{a.bias[n]};
      a.y[i * a.y_stride + n] = static_cast<float>(total);
    }
  }
}

}  // namespace

const QuantizedDotKernels quantized_dot_scalar = {.name = "quantized_dot_scalar",
                                                  .expand = expand,
                                                  .quantize = quantize,
                                                  .dot = dot,
                                                  .few_rows = 0,
                                                  .few_nibble_rows = 0,
                                                  .few_palette_rows = 0};

}  // namespace pippin::kernels
