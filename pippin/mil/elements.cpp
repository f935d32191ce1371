#include "pippin/mil/elements.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "pippin/base/numbers/float16.h"

namespace pippin::mil {
namespace {

// Rounds to odd: a second rounding, to a narrower type, then gives what one rounding would.
float to_float_for_rounding(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(value) || static_cast<double>(nearest) == value) {
    return nearest;
  }
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// 8-bit floats: sign, exponent, fraction. E5M2 is the upper half of binary16; E4M3FN has no
// infinity, and one NaN of each sign.
double float8_to_double(DataType type, uint64_t bits) {
  if (type == DataType::Float8E5M2) {
    return static_cast<double>(to_float(float16{static_cast<uint16_t>(bits << 8)}));
  }
  const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 3) & 0xf;
  const int fraction = static_cast<int>(bits) & 7;
  if (exponent == 0xf && fraction == 7) return std::copysign(std::nan(""), sign);
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
}

uint64_t double_to_float8(DataType type, double value) {
  const uint64_t sign = std::signbit(value) ? 0x80 : 0;
  const bool has_infinity = type == DataType::Float8E5M2;
  const uint64_t largest = has_infinity ? 0x7b : 0x7e;
  const uint64_t not_a_number = has_infinity ? 0x7e : 0x7f;
  if (std::isnan(value)) return sign | not_a_number;
  // Codes increase with the values, so the neighbours are found by stepping up.
  const double magnitude = std::fabs(value);
  for (uint64_t code = 0; code < largest; ++code) {
    const double low = float8_to_double(type, code), high = float8_to_double(type, code + 1);
    if (magnitude > high) continue;
    const double to_low = magnitude - low, to_high = high - magnitude;
    return sign | (to_low < to_high || (to_low == to_high && code % 2 == 0) ? code : code + 1);
  }
  const double top = float8_to_double(type, largest);
  const double half_step = (top - float8_to_double(type, largest - 1)) / 2;
  if (magnitude < top + half_step) return sign | largest;
  return sign | (has_infinity ? 0x7c : not_a_number);
}

}  // namespace

uint64_t element_bits(DataType type, ByteSpan bytes, size_t index) {
  const auto width = static_cast<size_t>(bit_width(type));
  if (width % 8 == 0) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + index * (width / 8), width / 8);
    return bits;
  }
  const size_t first = index * width, shift = first % 8;
  uint64_t window = std::to_integer<uint64_t>(bytes[first / 8]);
  if (shift + width > 8) window |= std::to_integer<uint64_t>(bytes[first / 8 + 1]) << 8;
  return (window >> shift) & ((uint64_t{1} << width) - 1);
}

void set_element_bits(DataType type, MutableByteSpan bytes, size_t index, uint64_t bits) {
  const auto width = static_cast<size_t>(bit_width(type));
  if (width % 8 == 0) {
    std::memcpy(bytes.data() + index * (width / 8), &bits, width / 8);
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    const size_t position = index * width + i;
    const auto mask = static_cast<std::byte>(1u << (position % 8));
    std::byte& target = bytes[position / 8];
    target = ((bits >> i) & 1) != 0 ? target | mask : target & ~mask;
  }
}

double bits_to_double(DataType type, uint64_t bits) {
  switch (type) {
    case DataType::Float16:
      return static_cast<double>(to_float(float16{static_cast<uint16_t>(bits)}));
    case DataType::BFloat16:
      return static_cast<double>(to_float(bfloat16{static_cast<uint16_t>(bits)}));
    case DataType::Float32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DataType::Float64:
      return std::bit_cast<double>(bits);
    case DataType::Float8E4M3FN:
    case DataType::Float8E5M2:
      return float8_to_double(type, bits);
    case DataType::UInt64:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(bits_to_int(type, bits));
  }
}

int64_t bits_to_int(DataType type, uint64_t bits) {
  if (type == DataType::Bool) return bits != 0 ? 1 : 0;
  const int width = bit_width(type);
  if (!is_signed_integer(type) || width == 64) return static_cast<int64_t>(bits);
  const uint64_t sign = uint64_t{1} << (width - 1);
  return static_cast<int64_t>((bits ^ sign) - sign);
}

uint64_t float_to_bits(DataType type, double value) {
  switch (type) {
    case DataType::Float16:
      return to_float16(to_float_for_rounding(value)).bits;
    case DataType::BFloat16:
      return to_bfloat16(to_float_for_rounding(value)).bits;
    case DataType::Float32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DataType::Float64:
      return std::bit_cast<uint64_t>(value);
    case DataType::Float8E4M3FN:
    case DataType::Float8E5M2:
      return double_to_float8(type, value);
    default:
      fail(ErrorCode::Internal, "{} is not a float type", to_string(type));
  }
}

void set_floats(DataType type, MutableByteSpan bytes, size_t index,
                std::span<const double> values) {
  if (type == DataType::Float32) {
    std::byte* const out = bytes.data() + index * sizeof(float);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(out + i * sizeof(float), &value, sizeof(float));
    }
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    set_element_bits(type, bytes, index + i, float_to_bits(type, values[i]));
  }
}

int64_t min_integer(DataType type) {
  if (!is_signed_integer(type)) return 0;
  const int width = bit_width(type);
  return width == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (width - 1));
}

int64_t max_integer(DataType type) {
  if (type == DataType::Bool) return 1;
  const int width = bit_width(type) - (is_signed_integer(type) ? 1 : 0);
  return width >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << width) - 1;
}

}  // namespace pippin::mil
