#include <cstring>
#include <vector>

#include "pippin/base/numbers/float16.h"
#include "pippin/cuda/emulate/machine.h"

namespace pippin::cuda {
namespace {

int signed_byte(uint32_t word, int i) {
  return static_cast<int8_t>(word >> (8 * i));
}

// Registers of a lane: a's, then b's.
template <size_t A, size_t B>
struct Registers {
  uint32_t a[A], b[B];
};
template <size_t A, size_t B>
struct WarpOperands {
  Registers<A, B> lanes[32];

  WarpOperands(const uint32_t (&a)[A], const uint32_t (&b)[B]) {
    Registers<A, B> mine;
    std::memcpy(mine.a, a, sizeof(a));
    std::memcpy(mine.b, b, sizeof(b));
    const emulate::Shown shown = emulate::show(&mine, sizeof(mine));
    for (int i = 0; i < 32; ++i) std::memcpy(&lanes[i], shown[i], sizeof(mine));
  }
};

// mma.m16n8k16 of 16-bit floats: two in each register.
template <typename ToFloat>
void multiply_16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                 const ToFloat& to_float) {
  const WarpOperands<4, 2> warp(a, b);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      const int pair = k % 8 / 2, high = k >= 8 ? 1 : 0, shift = k % 2 * 16;
      const uint32_t left = warp.lanes[row % 8 * 4 + pair].a[(row >= 8 ? 1 : 0) + 2 * high];
      const uint32_t right = warp.lanes[column * 4 + pair].b[high];
      sum += to_float(static_cast<uint16_t>(left >> shift)) *
             to_float(static_cast<uint16_t>(right >> shift));
    }
    d[i] += sum;
  }
}

// Element `column` of row `row` of a matrix whose rows the warp's lanes have shown.
uint16_t element_of(emulate::Shown shown, int matrix, int row, int column) {
  const unsigned char* address;
  std::memcpy(&address, shown[8 * matrix + row], sizeof(address));
  uint16_t bits;
  std::memcpy(&bits, address + 2 * column, sizeof(bits));
  return bits;
}
uint32_t pair_of(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(high) << 16 | low;
}

}  // namespace

float half_to_float(uint16_t bits) {
  static const std::vector<float> all = [] {
    std::vector<float> numbers(size_t{1} << 16);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = to_float(float16{static_cast<uint16_t>(i)});
    }
    return numbers;
  }();
  return all[bits];
}
uint16_t float_to_half(float x) {
  return to_float16(x).bits;
}

uint16_t float_to_bfloat(float x) {
  return to_bfloat16(x).bits;
}

int dot4(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += signed_byte(static_cast<uint32_t>(a), i) * signed_byte(static_cast<uint32_t>(b), i);
  }
  return c;
}

void multiply_int8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const WarpOperands<4, 2> warp(a, b);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
    for (int k = 0; k < 32; ++k) {
      const int four = k % 16 / 4, high = k >= 16 ? 1 : 0;
      d[i] += signed_byte(warp.lanes[row % 8 * 4 + four].a[(row >= 8 ? 1 : 0) + 2 * high], k % 4) *
              signed_byte(warp.lanes[column * 4 + four].b[high], k % 4);
    }
  }
}
void load_matrices(uint32_t (&d)[4], const void* shared_row) {
  const emulate::Shown shown = emulate::show(&shared_row, sizeof(shared_row));
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int i = 0; i < 4; ++i) {
    const unsigned char* row = nullptr;
    std::memcpy(&row, shown[i * 8 + lane / 4], sizeof(row));
    std::memcpy(&d[i], row + lane % 4 * 4, 4);
  }
}
void multiply_halves(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_16(d, a, b, half_to_float);
}
void multiply_bfloats(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_16(d, a, b,
              [](uint16_t bits) { return bits_to_float(static_cast<uint32_t>(bits) << 16); });
}

void load_transposed(uint32_t (&r)[4], const void* row) {
  const emulate::Shown shown = emulate::show(&row, sizeof(row));
  const int lane = static_cast<int>(threadIdx.x) & 31, first = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    r[i] =
        pair_of(element_of(shown, i, first, lane / 4), element_of(shown, i, first + 1, lane / 4));
  }
}

}  // namespace pippin::cuda
