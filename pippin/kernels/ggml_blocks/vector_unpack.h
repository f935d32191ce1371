// The table of ggml_blocks.h over the vectors (vec/) of the includer, which also defines:
//
//   B             a register of 32 bytes, with load_b(p), load_b_twice(p) (16 bytes, twice), store_b,
//                 &, |, ^, -, set_b, shift_b<n> (bits of its 16-bit lanes to the right, or to the
//                 left by -n)
//   halves        its low 16 bytes from one, its high ones from another
//   bits_b        a byte of 255 or 0 for each of 32 bits
//   look_up_b     16 bytes looked up by code
//   half          the fp16 number at p
//   widen         kLanes unsigned bytes as floats
//
// Shifts move bits across byte borders; a mask follows.
#pragma once

#include "pippin/kernels/ggml_blocks/args.h"
#include "pippin/kernels/ggml_blocks/code_tables.h"

namespace pippin::kernels {
namespace {

using Bytes = const uint8_t*;

PIPPIN_VEC B low_nibbles(B x) {
  return x & set_b(15);
}
PIPPIN_VEC B high_nibbles(B x) {
  return shift_b<4>(x) & set_b(15);
}
// 16 bytes: the low halves are the first 16 codes.
PIPPIN_VEC B nibbles(Bytes p) {
  const B pairs = load_b_twice(p);
  return low_nibbles(halves(pairs, shift_b<4>(pairs)));
}

// (code - less) * scale of `count` bytes, a multiple of 4.
template <int kCount>
PIPPIN_VEC void scale_bytes(Bytes codes, float scale, float less, float* out) {
  static_assert(kCount % kLanes == 0);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; i += kLanes) {
    store(out + i, (widen(codes + i) - set(less)) * set(scale));
  }
}

// ---- types of 32 columns: codes, then the scale

struct Q80 {
  static constexpr int64_t kColumns = 32, kBytes = 34, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    store_b(codes, load_b(p + 2));
    scales[0] = half(p);
  }
};
struct Q40 {
  static constexpr int64_t kColumns = 32, kBytes = 18, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    store_b(codes, nibbles(p + 2) - set_b(8));
    scales[0] = half(p);
  }
};
struct Q41 {
  static constexpr int64_t kColumns = 32, kBytes = 20, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float* offsets) {
    store_b(codes, nibbles(p + 4));
    scales[0] = half(p);
    offsets[0] = -half(p + 2);
  }
};
struct Q50 {
  static constexpr int64_t kColumns = 32, kBytes = 22, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    store_b(codes, (nibbles(p + 6) | (bits_b(p + 2) & set_b(16))) - set_b(16));
    scales[0] = half(p);
  }
};
struct Q51 {
  static constexpr int64_t kColumns = 32, kBytes = 24, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float* offsets) {
    store_b(codes, nibbles(p + 8) | (bits_b(p + 4) & set_b(16)));
    scales[0] = half(p);
    offsets[0] = -half(p + 2);
  }
};

struct Iq4Nl {
  static constexpr int64_t kColumns = 32, kBytes = 18, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    store_b(codes, look_up_b(kNonlinear, nibbles(p + 2)));
    scales[0] = half(p);
  }
};
struct Mxfp4 {
  static constexpr int64_t kColumns = 32, kBytes = 17, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    store_b(codes, look_up_b(kDoubledE2m1, nibbles(p + 1)));
    // 2^(p[0] - 128); the two smallest are not normal numbers.
    const uint32_t exponent = p[0];
    const uint32_t bits = exponent >= 2 ? (exponent - 1) << 23 : uint32_t{0x200000} << exponent;
    __builtin_memcpy(scales, &bits, sizeof(bits));
  }
};

// ---- types of 256 columns

struct Iq4Xs {
  static constexpr int64_t kColumns = 256, kBytes = 136, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
#pragma GCC unroll 8
    for (int group = 0; group < 8; ++group) {
      store_b(codes + 32 * group, look_up_b(kNonlinear, nibbles(p + 8 + 16 * group)));
    }
    const int high = p[2] | p[3] << 8;
    uint8_t levels[8];
#pragma GCC unroll 8
    for (int group = 0; group < 8; ++group) {
      const int low = p[4 + group / 2] >> (4 * (group % 2)) & 15;
      levels[group] = static_cast<uint8_t>(low | (high >> (2 * group) & 3) << 4);
    }
    scale_bytes<8>(levels, half(p), 32, scales);
  }
};

// Two-bit codes: run r of 32 columns of each half has bits 2 r of the half's bytes.
template <int kRun>
PIPPIN_VEC B pairs(B bytes) {
  return shift_b<2 * kRun>(bytes) & set_b(3);
}

struct Q2K {
  static constexpr int64_t kColumns = 256, kBytes = 84, kGroup = 16;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float* offsets) {
    for (int part = 0; part < 2; ++part) {
      const B bytes = load_b(p + 16 + 32 * part);
      uint8_t* out = codes + 128 * part;
      store_b(out, pairs<0>(bytes));
      store_b(out + 32, pairs<1>(bytes));
      store_b(out + 64, pairs<2>(bytes));
      store_b(out + 96, pairs<3>(bytes));
    }
    uint8_t levels[32];
    store_b(levels, nibbles(p));
    scale_bytes<16>(levels, half(p + 80), 0, scales);
    scale_bytes<16>(levels + 16, half(p + 82), 0, offsets);
  }
};

struct Q3K {
  static constexpr int64_t kColumns = 256, kBytes = 110, kGroup = 16;
  // Bit `kPart * 4 + kRun` of the high bytes is the third bit of a code.
  template <int kPart, int kRun>
  static PIPPIN_VEC B code(B bytes, B high) {
    return (pairs<kRun>(bytes) | (shift_b<4 * kPart + kRun - 2>(high) & set_b(4))) - set_b(4);
  }
  template <int kPart>
  static PIPPIN_VEC void unpack_part(Bytes p, B high, uint8_t* out) {
    const B bytes = load_b(p);
    store_b(out, code<kPart, 0>(bytes, high));
    store_b(out + 32, code<kPart, 1>(bytes, high));
    store_b(out + 64, code<kPart, 2>(bytes, high));
    store_b(out + 96, code<kPart, 3>(bytes, high));
  }
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    const B high = load_b(p);
    unpack_part<0>(p + 32, high, codes);
    unpack_part<1>(p + 64, high, codes + 128);
    // 16 scales of 6 bits: the low halves in 8 bytes, the high pairs in 4.
    uint32_t low[2], top;
    __builtin_memcpy(low, p + 96, sizeof(low));
    __builtin_memcpy(&top, p + 104, sizeof(top));
    uint32_t levels[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      levels[i] = (low[i % 2] >> (4 * (i / 2)) & 0x0f0f0f0fu) | (top >> (2 * i) & 0x03030303u) << 4;
    }
    scale_bytes<16>(reinterpret_cast<Bytes>(levels), half(p + 108), 32, scales);
  }
};

// For Q4_K and Q5_K: 8 scales and 8 minima of 6 bits in 12 bytes.
PIPPIN_VEC void k_scales(Bytes p, float* scales, float* offsets) {
  uint32_t packed[3], levels[4];
  __builtin_memcpy(packed, p + 4, sizeof(packed));
  levels[0] = packed[0] & 0x3f3f3f3fu;
  levels[1] = (packed[2] & 0x0f0f0f0fu) | (packed[0] >> 6 & 0x03030303u) << 4;
  levels[2] = packed[1] & 0x3f3f3f3fu;
  levels[3] = (packed[2] >> 4 & 0x0f0f0f0fu) | (packed[1] >> 6 & 0x03030303u) << 4;
  const auto* bytes = reinterpret_cast<Bytes>(levels);
  scale_bytes<8>(bytes, half(p), 0, scales);
  scale_bytes<8>(bytes + 8, half(p + 2), 0, offsets);
}

struct Q4K {
  static constexpr int64_t kColumns = 256, kBytes = 144, kGroup = 32;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float* offsets) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const B bytes = load_b(p + 16 + 32 * part);
      store_b(codes + 64 * part, low_nibbles(bytes));
      store_b(codes + 64 * part + 32, high_nibbles(bytes));
    }
    k_scales(p, scales, offsets);
  }
};

struct Q5K {
  static constexpr int64_t kColumns = 256, kBytes = 176, kGroup = 32;
  template <int kPart>
  static PIPPIN_VEC void unpack_part(Bytes p, B high, uint8_t* out) {
    const B bytes = load_b(p);
    store_b(out, low_nibbles(bytes) | (shift_b<2 * kPart - 4>(high) & set_b(16)));
    store_b(out + 32, high_nibbles(bytes) | (shift_b<2 * kPart - 3>(high) & set_b(16)));
  }
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float* offsets) {
    const B high = load_b(p + 16);
    unpack_part<0>(p + 48, high, codes);
    unpack_part<1>(p + 80, high, codes + 64);
    unpack_part<2>(p + 112, high, codes + 128);
    unpack_part<3>(p + 144, high, codes + 192);
    k_scales(p, scales, offsets);
  }
};

struct Q6K {
  static constexpr int64_t kColumns = 256, kBytes = 210, kGroup = 16;
  static PIPPIN_VEC void unpack(Bytes p, uint8_t* codes, float* scales, float*) {
    const B top = set_b(0x30), less = set_b(32);
    for (int part = 0; part < 2; ++part) {
      const B first = load_b(p + 64 * part), second = load_b(p + 64 * part + 32);
      const B high = load_b(p + 128 + 32 * part);
      uint8_t* out = codes + 128 * part;
      store_b(out, (low_nibbles(first) | (shift_b<-4>(high) & top)) - less);
      store_b(out + 32, (low_nibbles(second) | (shift_b<-2>(high) & top)) - less);
      store_b(out + 64, (high_nibbles(first) | (high & top)) - less);
      store_b(out + 96, (high_nibbles(second) | (shift_b<2>(high) & top)) - less);
    }
    uint8_t levels[16];
    for (int i = 0; i < 16; i += 8) {
      uint64_t word;
      __builtin_memcpy(&word, p + 192 + i, sizeof(word));
      word ^= 0x8080808080808080u;
      __builtin_memcpy(levels + i, &word, sizeof(word));
    }
    scale_bytes<16>(levels, half(p + 208), 128, scales);
  }
};

template <typename Type>
void unpack_blocks(const UnpackArgs& a) {
  constexpr int64_t kTogether = 256 / Type::kColumns, kGroups = Type::kColumns / Type::kGroup;
  uint8_t* codes = a.codes;
  float *scales = a.scales, *offsets = a.offsets;
  for (int64_t i = 0; i < a.count; ++i) {
    if (a.next != nullptr && i % kTogether == 0) {
      constexpr int64_t kFetched = kTogether * Type::kBytes;
#pragma GCC unroll 8
      for (int64_t at = 0; at < kFetched; at += 64) {
        __builtin_prefetch(a.next + i * Type::kBytes + at);
      }
    }
    Type::unpack(a.blocks + i * Type::kBytes, codes, scales, offsets);
    codes += Type::kColumns;
    scales += kGroups;
    if (offsets != nullptr) offsets += kGroups;
  }
}

void unpack(GgmlType type, const UnpackArgs& args) noexcept {
  switch (type) {
    case GgmlType::Q80:
      return unpack_blocks<Q80>(args);
    case GgmlType::Q40:
      return unpack_blocks<Q40>(args);
    case GgmlType::Q41:
      return unpack_blocks<Q41>(args);
    case GgmlType::Q50:
      return unpack_blocks<Q50>(args);
    case GgmlType::Q51:
      return unpack_blocks<Q51>(args);
    case GgmlType::Iq4Nl:
      return unpack_blocks<Iq4Nl>(args);
    case GgmlType::Iq4Xs:
      return unpack_blocks<Iq4Xs>(args);
    case GgmlType::Mxfp4:
      return unpack_blocks<Mxfp4>(args);
    case GgmlType::Q2K:
      return unpack_blocks<Q2K>(args);
    case GgmlType::Q3K:
      return unpack_blocks<Q3K>(args);
    case GgmlType::Q4K:
      return unpack_blocks<Q4K>(args);
    case GgmlType::Q5K:
      return unpack_blocks<Q5K>(args);
    case GgmlType::Q6K:
      return unpack_blocks<Q6K>(args);
    default:
      return ggml_blocks_scalar.unpack(type, args);
  }
}

}  // namespace
}  // namespace pippin::kernels
