// The reference: element by element.
#include <cmath>
#include <cstring>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/kernels/ggml_blocks/grids.h"

namespace pippin::kernels {
namespace {

using Bytes = const uint8_t*;

float half_of(Bytes p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return to_float(float16{bits});
}
uint8_t narrow(int code) {
  return static_cast<uint8_t>(static_cast<int8_t>(code));
}

// Scales and offsets of a block of one group.
void one_scale(Bytes block, float* scales, float* /*offsets*/) {
  scales[0] = half_of(block);
}
void scale_and_bias(Bytes block, float* scales, float* offsets) {
  scales[0] = half_of(block);
  offsets[0] = -half_of(block + 2);
}

// 16 bytes: the low halves are the first 16 codes.
template <typename Visit>
void visit_nibbles(Bytes bytes, const Visit& visit) {
  for (int i = 0; i < 16; ++i) {
    visit(i, bytes[i] & 15);
    visit(i + 16, bytes[i] >> 4);
  }
}

void q8_0_codes(Bytes block, uint8_t* out) {
  std::memcpy(out, block + 2, 32);
}
void q4_0_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 2, [&](int i, int code) { out[i] = narrow(code - 8); });
}
void q4_1_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 4, [&](int i, int code) { out[i] = narrow(code); });
}
int fifth_bit(Bytes bits, int i) {
  return (bits[i / 8] >> (i % 8) & 1) << 4;
}
void q5_0_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 6,
                [&](int i, int code) { out[i] = narrow((code | fifth_bit(block + 2, i)) - 16); });
}
void q5_1_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 8,
                [&](int i, int code) { out[i] = narrow(code | fifth_bit(block + 4, i)); });
}

constexpr int kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};
void iq4_nl_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 2, [&](int i, int code) { out[i] = narrow(kNonlinear[code]); });
}

// fp16 scale, 16 bits of the scales' high parts, 4 bytes of their low ones, 8 groups.
void iq4_xs_codes(Bytes block, uint8_t* out) {
  for (int group = 0; group < 8; ++group) {
    visit_nibbles(block + 8 + 16 * group,
                  [&](int i, int code) { out[32 * group + i] = narrow(kNonlinear[code]); });
  }
}
void iq4_xs_scales(Bytes block, float* scales, float* /*offsets*/) {
  const float scale = half_of(block);
  const int high = block[2] | block[3] << 8;
  for (int group = 0; group < 8; ++group) {
    const int low = block[4 + group / 2] >> (4 * (group % 2)) & 15;
    scales[group] = scale * static_cast<float>((low | (high >> (2 * group) & 3) << 4) - 32);
  }
}

// e2m1 with doubled values, and 2^(s - 127).
constexpr int kDoubledE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
void mxfp4_codes(Bytes block, uint8_t* out) {
  visit_nibbles(block + 1, [&](int i, int code) { out[i] = narrow(kDoubledE2m1[code]); });
}
void mxfp4_scales(Bytes block, float* scales, float* /*offsets*/) {
  scales[0] = std::ldexp(1.0f, block[0] - 128);
}

// 64 bytes with 256 codes of two bits: in each half of the codes, four runs of 32.
template <typename Visit>
void visit_pairs(Bytes bytes, const Visit& visit) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32;
    visit(i, bytes[32 * half + i % 32] >> (2 * run) & 3);
  }
}
void q2_k_codes(Bytes block, uint8_t* out) {
  visit_pairs(block + 16, [&](int i, int code) { out[i] = narrow(code); });
}
void q2_k_scales(Bytes block, float* scales, float* offsets) {
  const float scale = half_of(block + 80), least = half_of(block + 82);
  for (int group = 0; group < 16; ++group) {
    scales[group] = scale * static_cast<float>(block[group] & 15);
    offsets[group] = least * static_cast<float>(block[group] >> 4);
  }
}

void q3_k_codes(Bytes block, uint8_t* out) {
  visit_pairs(block + 32, [&](int i, int code) {
    const bool high = (block[i % 32] >> (i / 32) & 1) != 0;
    out[i] = narrow(high ? code : code - 4);
  });
}
// 16 scales of 6 bits: the low halves in 8 bytes, the high pairs in 4.
void q3_k_scales(Bytes block, float* scales, float* /*offsets*/) {
  const Bytes packed = block + 96;
  const float scale = half_of(block + 108);
  for (int group = 0; group < 16; ++group) {
    const int low = packed[group % 8] >> (4 * (group / 8)) & 15;
    const int high = packed[8 + group % 4] >> (2 * (group / 4)) & 3;
    scales[group] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

// For Q4_K and Q5_K: 8 scales and 8 minima of 6 bits in 12 bytes.
void k_scales(Bytes block, float* scales, float* offsets) {
  const float scale = half_of(block), least = half_of(block + 2);
  const Bytes packed = block + 4;
  for (int group = 0; group < 8; ++group) {
    int factor, minimum;
    if (group < 4) {
      factor = packed[group] & 63;
      minimum = packed[group + 4] & 63;
    } else {
      factor = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
      minimum = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
    }
    scales[group] = scale * static_cast<float>(factor);
    offsets[group] = least * static_cast<float>(minimum);
  }
}
// 128 bytes: for each 64 codes, the low halves are the first 32.
int k_nibble(Bytes bytes, int i) {
  return bytes[32 * (i / 64) + i % 32] >> (4 * (i / 32 % 2)) & 15;
}
void q4_k_codes(Bytes block, uint8_t* out) {
  for (int i = 0; i < 256; ++i) out[i] = narrow(k_nibble(block + 16, i));
}
void q5_k_codes(Bytes block, uint8_t* out) {
  const Bytes high = block + 16;
  for (int i = 0; i < 256; ++i) {
    out[i] = narrow(k_nibble(block + 48, i) | (high[i % 32] >> (i / 32) & 1) << 4);
  }
}

// 128 bytes of low halves, 64 of high pairs, 16 scales of 8 bits, an fp16 scale.
void q6_k_codes(Bytes block, uint8_t* out) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32, place = i % 32;
    const int low = block[64 * half + 32 * (run % 2) + place] >> (4 * (run / 2)) & 15;
    const int high = block[128 + 32 * half + place] >> (2 * run) & 3;
    out[i] = narrow((low | high << 4) - 32);
  }
}
void q6_k_scales(Bytes block, float* scales, float* /*offsets*/) {
  const float scale = half_of(block + 208);
  for (int group = 0; group < 16; ++group) {
    scales[group] = scale * static_cast<float>(static_cast<int8_t>(block[192 + group]));
  }
}

struct Reader {
  void (*codes)(Bytes block, uint8_t* out);
  void (*scales)(Bytes block, float* scales, float* offsets);
};
Reader reader_of(GgmlType type) {
  switch (type) {
    case GgmlType::Q80:
      return {q8_0_codes, one_scale};
    case GgmlType::Q40:
      return {q4_0_codes, one_scale};
    case GgmlType::Q41:
      return {q4_1_codes, scale_and_bias};
    case GgmlType::Q50:
      return {q5_0_codes, one_scale};
    case GgmlType::Q51:
      return {q5_1_codes, scale_and_bias};
    case GgmlType::Iq4Nl:
      return {iq4_nl_codes, one_scale};
    case GgmlType::Iq4Xs:
      return {iq4_xs_codes, iq4_xs_scales};
    case GgmlType::Mxfp4:
      return {mxfp4_codes, mxfp4_scales};
    case GgmlType::Q2K:
      return {q2_k_codes, q2_k_scales};
    case GgmlType::Q3K:
      return {q3_k_codes, q3_k_scales};
    case GgmlType::Q4K:
      return {q4_k_codes, k_scales};
    case GgmlType::Q5K:
      return {q5_k_codes, k_scales};
    default:
      return {q6_k_codes, q6_k_scales};
  }
}

void unpack(GgmlType type, const UnpackArgs& args) noexcept {
  const GgmlForm& form = ggml_form(type);
  const int64_t groups = form.columns / form.group;
  if (type > GgmlType::Q6K) {
    for (int64_t i = 0; i < args.count; ++i) {
      unpack_grid_block(type, args.blocks + i * form.bytes, args.codes + i * form.columns,
                        args.scales + i * groups);
    }
    return;
  }
  const Reader reader = reader_of(type);
  for (int64_t i = 0; i < args.count; ++i) {
    const Bytes block = args.blocks + i * form.bytes;
    reader.codes(block, args.codes + i * form.columns);
    reader.scales(block, args.scales + i * groups,
                  form.has_offsets ? args.offsets + i * groups : nullptr);
  }
}

}  // namespace

const GgmlBlockKernels ggml_blocks_scalar = {"ggml_blocks_scalar", unpack};

}  // namespace pippin::kernels
