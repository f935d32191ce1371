#include "pippin/base/numbers/float_convert.h"

#include <cmath>
#include <cstring>

#include "pippin/base/cpu_features.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/x86_avx2_convert.h"

namespace pippin {
namespace {

template <typename T>
T load(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void store(std::byte* to, size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

[[maybe_unused]] const unsigned char* plain(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
[[maybe_unused]] unsigned char* plain(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

// Number of elements for the vector code.
[[maybe_unused]] size_t vector_part(size_t count) {
  return cpu_features().avx2 ? count / 8 * 8 : 0;
}

bool store_half(float value, std::byte* to, size_t index) {
  const float16 half = to_float16(value);
  store(to, index, half.bits);
  return (half.bits & 0x7fff) == 0x7c00 && std::isfinite(value);
}

}  // namespace

bool convert_f32_to_f16(const std::byte* from, std::byte* to, size_t count) {
  size_t done = 0;
  bool overflow = false;
#if defined(__x86_64__)
  done = vector_part(count);
  overflow = avx2_f32_to_f16(plain(from), plain(to), done);
#endif
  for (size_t i = done; i < count; ++i) {
    overflow |= store_half(load<float>(from, i), to, i);
  }
  return overflow;
}

bool convert_bf16_to_f16(const std::byte* from, std::byte* to, size_t count) {
  size_t done = 0;
  bool overflow = false;
#if defined(__x86_64__)
  done = vector_part(count);
  overflow = avx2_bf16_to_f16(plain(from), plain(to), done);
#endif
  for (size_t i = done; i < count; ++i) {
    overflow |= store_half(to_float(bfloat16{load<uint16_t>(from, i)}), to, i);
  }
  return overflow;
}

void convert_f16_to_f32(const std::byte* from, std::byte* to, size_t count) {
  size_t done = 0;
#if defined(__x86_64__)
  done = vector_part(count);
  avx2_f16_to_f32(plain(from), plain(to), done);
#endif
  for (size_t i = done; i < count; ++i) {
    store(to, i, to_float(float16{load<uint16_t>(from, i)}));
  }
}

void convert_bf16_to_f32(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    store(to, i, to_float(bfloat16{load<uint16_t>(from, i)}));
  }
}

}  // namespace pippin
