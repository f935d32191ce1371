#include "pippin/kernels/quantized_dot/quantized_dot.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::kernels {
namespace {

constexpr Listed<QuantizedDotKernels> kKernels[] = {
#define PIPPIN_QUANTIZED_DOT(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/quantized_dot/kernels.inc"
#undef PIPPIN_QUANTIZED_DOT
};

constexpr int64_t kPadding = 512;  // columns; kernels read 16 scales of 32 at once

// The parts of the memory of quantized rows.
struct Parts {
  int64_t values, scales, sums, starts, block_sums, totals, total;
  explicit Parts(const QuantizedRows& form) {
    // A kernel may read a whole register from any position.
    const int64_t units = form.m * (form.padded / form.unit);
    const int64_t numbers = units * form.repeat * 4 + 64;
    values = 0;
    const int64_t rows = form.row_pairs ? align_up<int64_t>(form.m, 2) : form.m;
    scales = align_up<int64_t>(values + rows * form.padded, 64);
    sums = align_up<int64_t>(scales + numbers, 64);
    starts = align_up<int64_t>(sums + numbers, 64);
    block_sums = align_up<int64_t>(starts + numbers, 64);
    totals = align_up<int64_t>(block_sums + (form.block > 0 ? units * 4 + 64 : 0), 64);
    total = align_up<int64_t>(totals + form.m * 4, 64);
  }
};

}  // namespace

std::span<const Listed<QuantizedDotKernels>> quantized_dot_kernels() {
  return kKernels;
}

const QuantizedDotKernels& choose_quantized_dot(const CpuFeatures& cpu) {
  return choose("quantized_dot", quantized_dot_kernels(), cpu);
}

float stored_number(const void* numbers, WeightType type, int64_t index) {
  if (type == WeightType::F32) return static_cast<const float*>(numbers)[index];
  const uint16_t bits = static_cast<const uint16_t*>(numbers)[index];
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

bool can_dot(const QuantizedMatrix& w) {
  if (w.k <= 0 || w.k % 32 != 0 || w.first != 0 || w.first_block != 0) return false;
  if (w.scales == nullptr) return w.byte_palettes != nullptr && w.blocks_per_row == 1;
  return w.blocks_per_row == 1 || w.block_columns % 32 == 0 || w.block_columns == 16;
}

BytePalettes make_byte_palettes(const void* palettes, WeightType type, int bits, int64_t count) {
  const int64_t entries = int64_t{1} << bits, stride = byte_palette_stride(bits);
  BytePalettes result;
  result.bytes.assign(static_cast<size_t>(count * 2 * stride), 0);
  for (int64_t p = 0; p < count; ++p) {
    float largest = 0;
    bool finite = true;
    for (int64_t e = 0; e < entries; ++e) {
      const float value = std::fabs(stored_number(palettes, type, p * entries + e));
      finite = finite && std::isfinite(value);
      largest = std::max(largest, value);
    }
    constexpr float kLevels = 32512.0F;  // 127 * 256: the high byte stays within -127 .. 127
    result.scales.push_back(finite ? largest / kLevels : std::nanf(""));
    for (int64_t e = 0; e < stride; ++e) {
      const float value = stored_number(palettes, type, p * entries + e % entries);
      const float level = !finite || largest == 0 ? 0.0F : value / largest * kLevels;
      const auto bits16 = static_cast<int>(std::lrintf(level)) + 32768;
      const auto at = static_cast<size_t>(p * 2 * stride + e);
      result.bytes[at] = static_cast<uint8_t>(bits16 >> 8);
      result.bytes[at + static_cast<size_t>(stride)] = static_cast<uint8_t>(bits16 & 255);
    }
  }
  return result;
}

QuantizedRows quantized_form(const QuantizedDotKernels& kernels, const QuantizedMatrix& w,
                             int64_t m) {
  QuantizedRows form{};
  const bool few = m <= (w.scales == nullptr ? kernels.few_palette_rows
                         : w.bits == 4       ? kernels.few_nibble_rows
                                             : kernels.few_rows);
  form.m = m;
  form.k = w.k;
  form.padded = align_up<int64_t>(w.k, kPadding);
  form.unit = w.scales != nullptr && w.blocks_per_row > 1 && w.block_columns == 16 ? 16 : 32;
  const bool whole = w.blocks_per_row == 1 && !w.scaled_offsets;
  form.block = whole || w.offset_type == OffsetType::None ? 0 : w.block_columns;
  form.behind = w.bits != 4 && whole ? kernels.behind : 16;
  form.order = kernels.few_rows > 0 && w.bits == 4 ? ValueOrder::Split : ValueOrder::Natural;
  form.row_pairs = kernels.row_pairs && !few;
  form.repeat = few ? 4 : 1;
  if (w.scales != nullptr && w.bits == 4) {
    form.center = w.is_signed ? 8 : 0;
  } else if (kernels.signed_bytes) {
    form.center = w.scales != nullptr && !w.is_signed ? -128 : 0;
  } else {
    form.center = w.scales == nullptr || w.is_signed ? 128 : 0;
  }
  return form;
}

bool same_form(const QuantizedRows& a, const QuantizedRows& b) {
  return a.k == b.k && a.unit == b.unit && a.block == b.block && a.order == b.order &&
         a.behind == b.behind && a.repeat == b.repeat && a.center == b.center;
}

int64_t quantized_bytes(const QuantizedRows& form) {
  return Parts(form).total;
}

void place_quantized(QuantizedRows& form, void* memory) {
  const Parts parts(form);
  char* bytes = static_cast<char*>(memory);
  form.values = reinterpret_cast<int8_t*>(bytes + parts.values);
  form.scales = reinterpret_cast<float*>(bytes + parts.scales);
  form.sums = reinterpret_cast<float*>(bytes + parts.sums);
  form.starts = reinterpret_cast<int32_t*>(bytes + parts.starts);
  form.block_sums = reinterpret_cast<float*>(bytes + parts.block_sums);
  form.totals = reinterpret_cast<float*>(bytes + parts.totals);
}

QuantizedRows part_of(const QuantizedRows& rows, int64_t begin, int64_t end) {
  const int64_t numbers = begin * (rows.padded / rows.unit);
  QuantizedRows part = rows;
  part.m = end - begin;
  part.values += begin * rows.padded;
  part.scales += numbers * rows.repeat;
  part.sums += numbers * rows.repeat;
  part.starts += numbers * rows.repeat;
  part.block_sums += numbers;
  part.totals += begin;
  return part;
}

int64_t quantized_dot_scratch_bytes() {
  // A piece of a tile as bytes, its scales, and the sums for 256 rows of x.
  return kQuantizedDotGrain * (512 + 32 * 4) + 256 * kQuantizedDotGrain * 4 * 4 + 4096;
}

}  // namespace pippin::kernels
