#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::kernels {
namespace {

constexpr int kBinades = 15;      // of normal codes
constexpr int kMantissaBits = 7;  // stored ones
constexpr int kHalfGroup = 64;
static_assert(2 * kHalfGroup == kE4M7Group);

constexpr std::array<uint8_t, kHalfGroup> kColumnOfPlace = [] {
  std::array<uint8_t, kHalfGroup> columns{};
  for (int place = 0; place < kHalfGroup; ++place) {
    const int l = place / 16, h = place / 8 % 2, j = place / 2 % 4, o = place % 2;
    columns[static_cast<size_t>(place)] = static_cast<uint8_t>(16 * (2 * h + o) + 4 * l + j);
  }
  return columns;
}();

// The factor for a code's value if the smallest normal one means 2^smallest.
constexpr int scale_exponent(int smallest) {
  return smallest + 126;
}
// Range of `smallest`: scales and their reciprocals must be fp32 numbers.
constexpr int kLeast = -240, kMost = 1;

uint32_t sign_and_exponent(uint32_t bits) {  // from a code's value: seee
  return (bits >> 28 & 8) | (bits >> 24 & 7);
}

void place_group(const uint32_t (&numbers)[kE4M7Group], uint8_t* out) {
  for (size_t place = 0; place < kHalfGroup; ++place) {
    const size_t column = kColumnOfPlace[place];
    const uint32_t first = numbers[column], second = numbers[kHalfGroup + column];
    out[place] = static_cast<uint8_t>(first >> 16);
    out[kHalfGroup + place] = static_cast<uint8_t>(second >> 16);
    out[2 * kHalfGroup + place] =
        static_cast<uint8_t>(sign_and_exponent(first) | sign_and_exponent(second) << 4);
  }
}

// Encodes the row, which ends with zeros up to a whole group, with one scale.
E4M7Row encode(const std::vector<float>& row, int smallest, uint8_t* out, E4M7Exception* exceptions,
               int64_t room) {
  const float scale = std::ldexp(1.0f, scale_exponent(smallest));
  const float down = std::ldexp(1.0f, -scale_exponent(smallest));
  E4M7Row result{scale, 0};
  for (size_t from = 0; from < row.size(); from += kE4M7Group, out += kE4M7GroupBytes) {
    const float* values = row.data() + from;
    uint32_t numbers[kE4M7Group], misfits[kE4M7Group], all_misfits = 0;
    for (size_t i = 0; i < kE4M7Group; ++i) {
      // Masks instead of branches, so that the compiler vectorizes.
      constexpr int32_t kTooLarge = (kBinades + 1) << 23;
      const uint32_t bits = std::bit_cast<uint32_t>(values[i] * down);
      const auto magnitude = static_cast<int32_t>(bits & 0x7fffffff);
      const uint32_t cut = bits & 0xffff0000 & -static_cast<uint32_t>(magnitude < kTooLarge);
      const uint32_t back = std::bit_cast<uint32_t>(std::bit_cast<float>(cut) * scale);
      const uint32_t fits = -static_cast<uint32_t>(back == std::bit_cast<uint32_t>(values[i]));
      numbers[i] = cut & fits;
      misfits[i] = ~fits;
      all_misfits |= ~fits;
    }
    for (size_t i = 0; all_misfits != 0 && i < kE4M7Group; ++i) {
      if (misfits[i] == 0) continue;
      if (result.num_exceptions < room) {
        exceptions[result.num_exceptions] = {static_cast<uint32_t>(from + i), values[i]};
      }
      ++result.num_exceptions;
    }
    place_group(numbers, out);
  }
  return result;
}

// Finds the scale with the fewest exceptions. A number fits if its highest bit is not beyond the
// largest binade, its lowest bit is a multiple of the smallest subnormal, and the two are close
// enough.
int best_smallest(const std::vector<float>& row) {
  constexpr int kLow = -160, kHigh = 130;  // exponents of bits in bf16 and fp16 numbers
  std::array<int64_t, kHigh - kLow> highest{}, lowest{};
  for (const float value : row) {
    if (value == 0 || !std::isfinite(value)) continue;
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
    const auto digits = static_cast<uint32_t>(std::ldexp(fraction, 24));
    const int high = exponent - 1, low = exponent - 24 + std::countr_zero(digits);
    if (high - low > kMantissaBits) continue;
    ++highest[static_cast<size_t>(high - kLow)];
    ++lowest[static_cast<size_t>(low - kLow)];
  }
  const auto misfits = [&](int smallest) {
    int64_t count = 0;
    for (int bit = kLow; bit < kHigh; ++bit) {
      if (bit >= smallest + kBinades) count += highest[static_cast<size_t>(bit - kLow)];
      if (bit < smallest - kMantissaBits) count += lowest[static_cast<size_t>(bit - kLow)];
    }
    return count;
  };
  int best = kMost;
  int64_t least = misfits(best);
  for (int smallest = kMost - 1; smallest >= kLow && least > 0; --smallest) {
    const int64_t count = misfits(smallest);
    if (count < least) {
      best = smallest;
      least = count;
    }
  }
  return best;
}

}  // namespace

E4M7Row pack_e4m7_row(WeightType type, const std::byte* weights, int64_t k, uint8_t* out,
                      E4M7Exception* exceptions, int64_t room) {
  std::vector<float> row(static_cast<size_t>(align_up(k, kE4M7Group)));
  auto* floats = reinterpret_cast<std::byte*>(row.data());
  const auto convert = type == WeightType::F16 ? convert_f16_to_f32 : convert_bf16_to_f32;
  convert(weights, floats, static_cast<size_t>(k));
  float largest = 0;
  for (const float value : row) {
    const float magnitude = std::fabs(value);
    largest = magnitude > largest && magnitude < INFINITY ? magnitude : largest;
  }
  // As far down as the largest allows, though all fp16 numbers are multiples of 2^-24.
  int smallest = kMantissaBits - 24;
  const int wanted = largest > 0 ? std::ilogb(largest) + 1 - kBinades : smallest;
  smallest =
      std::clamp(type == WeightType::F16 ? std::max(wanted, smallest) : wanted, kLeast, kMost);
  const E4M7Row first = encode(row, smallest, out, exceptions, room);
  if (first.num_exceptions == 0) return first;
  const int best = best_smallest(row);
  return best == smallest ? first : encode(row, best, out, exceptions, room);
}

}  // namespace pippin::kernels
