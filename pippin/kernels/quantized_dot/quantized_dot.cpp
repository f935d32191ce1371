#include "pippin/kernels/quantized_dot/quantized_dot.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/base/checked.h"
#include "pippin/base/float16.h"

namespace pippin::kernels {
namespace {

constexpr Listed<QuantizedDotKernels> kKernels[] = {
#define PIPPIN_QUANTIZED_DOT(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/quantized_dot/kernels.inc"
#undef PIPPIN_QUANTIZED_DOT
};

float palette_value(const void* palettes, WeightType type, int64_t index) {
  if (type == WeightType::F32) return static_cast<const float*>(palettes)[index];
  const uint16_t bits = static_cast<const uint16_t*>(palettes)[index];
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

constexpr int64_t kPadding = 512;  // columns; kernels read 16 scales of 32 at once

// The parts of the memory of quantized rows: values, scales, sums, starts.
struct Parts {
  int64_t values, scales, sums, starts, total;
  explicit Parts(const QuantizedRows& form) {
    const int64_t units = form.padded / form.unit;
    values = 0;
    const int64_t rows = form.row_pairs ? align_up<int64_t>(form.m, 2) : form.m;
    scales = align_up<int64_t>(values + rows * form.padded, 64);
    // A kernel may read 16 scales from any place on.
    sums = align_up<int64_t>(scales + form.m * units * 4 + 64, 64);
    starts = align_up<int64_t>(sums + form.m * units * 4 + 64, 64);
    total = align_up<int64_t>(starts + form.m * (form.padded / form.group) * 4, 64);
  }
};

}  // namespace

std::span<const Listed<QuantizedDotKernels>> quantized_dot_kernels() {
  return kKernels;
}

const QuantizedDotKernels& choose_quantized_dot(const CpuFeatures& cpu) {
  return choose("quantized_dot", quantized_dot_kernels(), cpu);
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
      const float value = std::fabs(palette_value(palettes, type, p * entries + e));
      finite = finite && std::isfinite(value);
      largest = std::max(largest, value);
    }
    constexpr float kLevels = 32512.0F;  // 127 * 256: the high byte stays within -127 .. 127
    result.scales.push_back(finite ? largest / kLevels : std::nanf(""));
    for (int64_t e = 0; e < stride; ++e) {
      const float value = palette_value(palettes, type, p * entries + e % entries);
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
  const bool few = m <= kernels.few_rows;
  form.m = m;
  form.k = w.k;
  form.padded = align_up<int64_t>(w.k, kPadding);
  form.unit = w.scales != nullptr && w.blocks_per_row > 1 && w.block_columns == 16 ? 16 : 32;
  form.order = ValueOrder::Natural;
  if (kernels.few_rows > 0 && w.bits == 4) {
    form.order = ValueOrder::Split;
  } else if (kernels.pairs && few && w.blocks_per_row == 1) {
    form.order = ValueOrder::Paired;
  }
  form.row_pairs = kernels.row_pairs && !few;
  form.group = !few ? form.unit : w.bits == 4 || form.order == ValueOrder::Paired ? 8 : 4;
  if (w.scales != nullptr && w.bits == 4) {
    form.center = w.is_signed ? 8 : 0;
  } else if (kernels.signed_bytes) {
    form.center = w.scales != nullptr && !w.is_signed ? -128 : 0;
  } else {
    form.center = w.scales == nullptr || w.is_signed ? 128 : 0;
  }
  return form;
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
}

int64_t quantized_dot_scratch_bytes(const QuantizedMatrix& w) {
  // A tile of 32 rows as one or two bytes for each element, and for each a scale and a scaled
  // offset per 16 columns; that is more than the 16 rows of scales that few rows of x need.
  const int64_t padded = align_up<int64_t>(w.k, kPadding);
  const int64_t planes = w.scales == nullptr ? 2 : 1;
  return kQuantizedDotGrain * padded * planes + kQuantizedDotGrain * (padded / 16) * 8 + 4096;
}

}  // namespace pippin::kernels
