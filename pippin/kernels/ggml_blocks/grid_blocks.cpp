// Block types whose weights are grid points, ternary digits, or E2M1 with 8-bit scales.
#include <cmath>
#include <cstring>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/ggml_blocks/grids.h"

namespace pippin::kernels {
namespace {

using Bytes = const uint8_t*;

float half_at(Bytes p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return to_float(float16{bits});
}
unsigned word16(Bytes p) {
  return static_cast<unsigned>(p[0] | p[1] << 8);
}
uint32_t word32(Bytes p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}
void put(uint8_t* out, int code) {
  *out = static_cast<uint8_t>(static_cast<int8_t>(code));
}

// Stores seven of eight signs: the number of negative ones is even.
unsigned even_signs(unsigned seven) {
  unsigned parity = seven ^ seven >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | (parity & 1) << 7;
}

constexpr int kTwoBitLevels[4] = {8, 25, 43, 0};
constexpr int kThreeBitLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};

void put_eight(uint8_t* out, uint16_t point, unsigned signs) {
  for (int i = 0; i < 8; ++i) {
    const int level = kTwoBitLevels[point >> (2 * i) & 3];
    put(out + i, (signs >> i & 1) != 0 ? -level : level);
  }
}
template <typename Level>
void put_four(uint8_t* out, uint16_t point, unsigned signs, const Level& level) {
  for (int i = 0; i < 4; ++i) {
    const int value = level(point >> (3 * i) & 7);
    put(out + i, (signs >> i & 1) != 0 ? -value : value);
  }
}

// fp16 scale; for each 32 weights four points of 8 bits, four times seven signs, a scale of 4 bits.
void iq2_xxs(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const Bytes points = block + 2 + 8 * group;
    const uint32_t rest = word32(points + 4);
    scales[group] = scale * (0.5f + static_cast<float>(rest >> 28)) * 0.25f;
    for (int i = 0; i < 4; ++i) {
      put_eight(codes + 32 * group + 8 * i, iq2_xxs_grid[points[i]],
                even_signs(rest >> (7 * i) & 127));
    }
  }
}

float quarter_scale(float scale, Bytes nibbles, int group) {
  const int factor = nibbles[group / 2] >> (4 * (group % 2)) & 15;
  return scale * (0.5f + static_cast<float>(factor)) * 0.25f;
}

// fp16 scale; points of 9 bits with seven signs; a scale of 4 bits for each 16 weights.
void iq2_xs(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    const unsigned word = word16(block + 2 + 2 * i);
    put_eight(codes + 8 * i, iq2_xs_grid[word & 511], even_signs(word >> 9));
  }
  for (int group = 0; group < 16; ++group) scales[group] = quarter_scale(scale, block + 66, group);
}

// fp16 scale; low 8 bits of points, signs, high 2 bits of points, scales as IQ2_XS has them.
void iq2_s(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    const int high = block[66 + i / 4] >> (2 * (i % 4)) & 3;
    put_eight(codes + 8 * i, iq2_s_grid[block[2 + i] | high << 8], block[34 + i]);
  }
  for (int group = 0; group < 16; ++group) scales[group] = quarter_scale(scale, block + 74, group);
}

// fp16 scale; 64 points of 8 bits; for each 32 weights four times seven signs, a scale of 4 bits.
void iq3_xxs(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  const auto level = [](int code) { return kThreeBitLevels[code]; };
  for (int group = 0; group < 8; ++group) {
    const uint32_t rest = word32(block + 66 + 4 * group);
    scales[group] = scale * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    for (int i = 0; i < 8; ++i) {
      const unsigned signs = even_signs(rest >> (7 * (i / 2)) & 127) >> (4 * (i % 2));
      put_four(codes + 32 * group + 4 * i, iq3_xxs_grid[block[2 + 8 * group + i]], signs, level);
    }
  }
}

// fp16 scale; low 8 bits of 64 points, their high bits, signs, a scale of 4 bits for each 32.
void iq3_s(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  const auto level = [](int code) { return 2 * code + 1; };
  for (int i = 0; i < 64; ++i) {
    const int high = block[66 + i / 8] >> (i % 8) & 1;
    const unsigned signs = static_cast<unsigned>(block[74 + i / 2] >> (4 * (i % 2)));
    put_four(codes + 4 * i, iq3_s_grid[block[2 + i] | high << 8], signs, level);
  }
  for (int group = 0; group < 8; ++group) {
    const int factor = block[106 + group / 2] >> (4 * (group % 2)) & 15;
    scales[group] = scale * static_cast<float>(1 + 2 * factor);
  }
}

// Points of -1, 0 and 1, all shifted by an eighth up or down: in eighths they are whole numbers.
void put_moved(uint8_t* out, uint16_t point, bool down) {
  for (int i = 0; i < 8; ++i) {
    put(out + i, 8 * ((point >> (2 * i) & 3) - 1) + (down ? -1 : 1));
  }
}

// fp16 scale; low 8 bits of points; for each 32 weights their high bits, a scale of 3 bits, and the
// direction of the shift.
void iq1_s(Bytes block, uint8_t* codes, float* scales) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const unsigned rest = word16(block + 34 + 2 * group);
    scales[group] = scale * static_cast<float>(2 * (rest >> 12 & 7) + 1) * 0.125f;
    for (int i = 0; i < 4; ++i) {
      const unsigned point = block[2 + 4 * group + i] | (rest >> (3 * i) & 7) << 8;
      put_moved(codes + 32 * group + 8 * i, iq1_grid[point], (rest & 0x8000) != 0);
    }
  }
}

// Low 8 bits of points; 4 bits for each with its high bits and the direction of its shift; 3-bit
// scales for each 16 weights; the high bits of these words form an fp16 scale.
void iq1_m(Bytes block, uint8_t* codes, float* scales) {
  unsigned bits = 0;
  for (int i = 0; i < 4; ++i) bits |= word16(block + 48 + 2 * i) >> 12 << (4 * i);
  const float scale = to_float(float16{static_cast<uint16_t>(bits)});
  for (int group = 0; group < 16; ++group) {
    const unsigned factor = word16(block + 48 + 2 * (group / 4)) >> (3 * (group % 4)) & 7;
    scales[group] = scale * static_cast<float>(2 * factor + 1) * 0.125f;
  }
  for (int i = 0; i < 32; ++i) {
    const int rest = block[32 + i / 2] >> (4 * (i % 2)) & 15;
    put_moved(codes + 8 * i, iq1_grid[block[i] | (rest & 7) << 8], (rest & 8) != 0);
  }
}

void same_scales(float scale, int count, float* scales) {
  for (int i = 0; i < count; ++i) scales[i] = scale;
}

// The ternary digit after `place` others in a byte, which holds their value as a fraction of 256.
int digit(uint8_t byte, int place) {
  constexpr int kPowers[5] = {1, 3, 9, 27, 81};
  return (static_cast<uint8_t>(byte * kPowers[place]) * 3 >> 8) - 1;
}
void tq1_0(Bytes block, uint8_t* codes, float* scales) {
  for (int i = 0; i < 160; ++i) put(codes + i, digit(block[i % 32], i / 32));
  for (int i = 0; i < 80; ++i) put(codes + 160 + i, digit(block[32 + i % 16], i / 16));
  for (int i = 0; i < 16; ++i) put(codes + 240 + i, digit(block[48 + i % 4], i / 4));
  same_scales(half_at(block + 52), 8, scales);
}

void tq2_0(Bytes block, uint8_t* codes, float* scales) {
  for (int i = 0; i < 256; ++i) {
    put(codes + i, (block[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3) - 1);
  }
  same_scales(half_at(block + 64), 8, scales);
}

// E4M3 without a sign, halved for doubled E2M1; 127 is not a number, and read as 0.
float half_e4m3(uint8_t byte) {
  if (byte == 127) return 0;
  const int exponent = byte >> 3 & 15;
  const auto mantissa = static_cast<float>(byte & 7);
  return exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(1 + mantissa / 8, exponent - 8);
}
void nvfp4(Bytes block, uint8_t* codes, float* scales) {
  constexpr int kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int group = 0; group < 4; ++group) {
    scales[group] = half_e4m3(block[group]);
    for (int i = 0; i < 16; ++i) {
      const int nibble = block[4 + 8 * group + i % 8] >> (4 * (i / 8)) & 15;
      put(codes + 16 * group + i, kDoubled[nibble]);
    }
  }
}

}  // namespace

void unpack_grid_block(GgmlType type, const uint8_t* block, uint8_t* codes, float* scales) {
  switch (type) {
    case GgmlType::Iq2Xxs:
      return iq2_xxs(block, codes, scales);
    case GgmlType::Iq2Xs:
      return iq2_xs(block, codes, scales);
    case GgmlType::Iq2S:
      return iq2_s(block, codes, scales);
    case GgmlType::Iq3Xxs:
      return iq3_xxs(block, codes, scales);
    case GgmlType::Iq3S:
      return iq3_s(block, codes, scales);
    case GgmlType::Iq1S:
      return iq1_s(block, codes, scales);
    case GgmlType::Iq1M:
      return iq1_m(block, codes, scales);
    case GgmlType::Tq10:
      return tq1_0(block, codes, scales);
    case GgmlType::Tq20:
      return tq2_0(block, codes, scales);
    default:
      return nvfp4(block, codes, scales);
  }
}

}  // namespace pippin::kernels
