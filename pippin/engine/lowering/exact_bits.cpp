#include "pippin/engine/lowering/exact_bits.h"

#include <cmath>
#include <cstring>

#include "pippin/base/numbers/float16.h"

namespace pippin::engine {
namespace {

using kernels::WeightType;

template <typename Number>
Number number_at(const std::byte* numbers, int64_t index) {
  Number number;
  std::memcpy(&number, numbers + index * static_cast<int64_t>(sizeof(number)), sizeof(number));
  return number;
}
float float_at(const std::byte* numbers, int64_t index) {
  return number_at<float>(numbers, index);
}

float16 rounded(float value, float16 /*type*/) {
  return to_float16(value);
}
bfloat16 rounded(float value, bfloat16 /*type*/) {
  return to_bfloat16(value);
}

// value(i) in 16 bits for all i, if holds(i, the rounded value) is true for each.
template <typename Half, typename Value, typename Holds>
std::optional<std::vector<std::byte>> halves(int64_t count, const Value& value,
                                             const Holds& holds) {
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < count; ++i) {
    const Half half = rounded(value(i), Half{});
    if (!holds(i, to_float(half))) return std::nullopt;
    if (i == 0) bytes.resize(static_cast<size_t>(count) * sizeof(half));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(half), &half, sizeof(half));
  }
  return bytes;
}

template <typename Value, typename Holds>
std::optional<ExactHalves> either_half(int64_t count, const Value& value, const Holds& holds) {
  if (auto bytes = halves<float16>(count, value, holds)) {
    return ExactHalves{WeightType::F16, std::move(*bytes)};
  }
  if (auto bytes = halves<bfloat16>(count, value, holds)) {
    return ExactHalves{WeightType::BF16, std::move(*bytes)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ExactHalves> exact_halves(const std::byte* numbers, int64_t count) {
  const auto value = [&](int64_t i) { return float_at(numbers, i); };
  return either_half(count, value, [&](int64_t i, float half) { return half == value(i); });
}

std::optional<ExactHalves> exact_products(const std::byte* offsets, const std::byte* scales,
                                          int64_t count) {
  const auto value = [&](int64_t i) { return float_at(offsets, i) * float_at(scales, i); };
  return either_half(count, value, [&](int64_t i, float half) {
    const float offset = float_at(offsets, i);
    return offset == 0 ? half == 0 : half / float_at(scales, i) == offset;
  });
}

std::optional<std::vector<std::byte>> exact_bytes(const std::byte* numbers, WeightType type,
                                                  int64_t count) {
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float value =
        type == WeightType::F32 ? float_at(numbers, i) : to_float(number_at<float16>(numbers, i));
    if (!(value >= 0 && value <= 255) || value != std::floor(value)) return std::nullopt;
    if (i == 0) bytes.resize(static_cast<size_t>(count));
    bytes[static_cast<size_t>(i)] = static_cast<std::byte>(static_cast<int>(value));
  }
  return bytes;
}

}  // namespace pippin::engine
