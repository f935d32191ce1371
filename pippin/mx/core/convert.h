// Converts runs of elements from any type to any other.
//
// Elementwise loops compute in one of a few kinds of numbers, whatever the stored type: load()
// converts a run of elements to the kind, store() back. Integers wrap; floats are truncated to
// integers, and saturate at 64 bits first; everything except 0 becomes true.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/mx/core/dtype.h"

namespace pippin::mx {

// The types that loops compute in: float, double, int32_t, int64_t, uint64_t.
enum class Kind : uint8_t { F32, F64, I32, I64, U64 };

// The kind that holds all numbers of a type: I32 also for bools and small integers, F32 for halves.
// Throws Unsupported, naming `op`, for complex64.
Kind kind_of(Dtype dtype, const char* op);
constexpr size_t size_of(Kind kind) {
  return kind == Kind::F32 || kind == Kind::I32 ? 4 : 8;
}

template <typename T>
struct Type {
  using type = T;
};

// Calls body(Type<T>) with the kind's type.
template <typename Body>
auto with_kind(Kind kind, Body body) {
  switch (kind) {
    case Kind::F32:
      return body(Type<float>());
    case Kind::F64:
      return body(Type<double>());
    case Kind::I32:
      return body(Type<int32_t>());
    case Kind::I64:
      return body(Type<int64_t>());
    default:
      return body(Type<uint64_t>());
  }
}

// Calls body(Type<T>) with the unsigned type of 1, 2, 4 or 8 bytes: for elements that are moved.
template <typename Body>
auto with_unsigned(size_t bytes, Body body) {
  switch (bytes) {
    case 1:
      return body(Type<uint8_t>());
    case 2:
      return body(Type<uint16_t>());
    case 4:
      return body(Type<uint32_t>());
    default:
      return body(Type<uint64_t>());
  }
}

// Whether elements of the type are stored in the kind's type.
constexpr bool is_native(Dtype dtype, Kind kind) {
  return (kind == Kind::F32 && dtype == float32) || (kind == Kind::F64 && dtype == float64) ||
         (kind == Kind::I32 && dtype == int32) || (kind == Kind::I64 && dtype == int64) ||
         (kind == Kind::U64 && dtype == uint64);
}

// The number of elements per piece: pieces stay in the first-level cache.
inline constexpr int64_t kPiece = 512;

// `step` is in elements, and may be 0 or negative.
using LoadFunction = void (*)(const std::byte* from, int64_t step, void* to, int64_t count);
using StoreFunction = void (*)(const void* from, std::byte* to, int64_t step, int64_t count);
LoadFunction loader(Dtype dtype, Kind kind);
StoreFunction storer(Kind kind, Dtype dtype);

// Steps are in elements of each side's type.
void convert(const std::byte* from, Dtype from_type, int64_t from_step, std::byte* to,
             Dtype to_type, int64_t to_step, int64_t count);

}  // namespace pippin::mx
