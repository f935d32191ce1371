// Runs of elements, from any type to any other.
//
// Loops over elements compute in one of a few kinds of numbers, whatever the type that is stored:
// load() brings a run of elements there, store() back. Integers wrap; floats become integers
// towards zero, what does not fit saturates in 64 bits first; anything but 0 becomes true.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/mx/dtype.h"

namespace pippin::mx {

// What a kind computes in: float, double, int32_t, int64_t, uint64_t.
enum class Kind : uint8_t { F32, F64, I32, I64, U64 };
inline constexpr int kNumKinds = 5;

// The kind whose numbers hold all of a type's: I32 also for bools and small integers, F32 for
// halves. complex64 has none: Unsupported, naming `op`.
Kind kind_of(Dtype dtype, const char* op);
constexpr size_t size_of(Kind kind) {
  return kind == Kind::F32 || kind == Kind::I32 ? 4 : 8;
}

template <typename T>
struct Type {
  using type = T;
};

// Calls body(Type<T>) for what the kind computes in.
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

// Whether the elements of the type are stored as what the kind computes in.
constexpr bool is_native(Dtype dtype, Kind kind) {
  return (kind == Kind::F32 && dtype == float32) || (kind == Kind::F64 && dtype == float64) ||
         (kind == Kind::I32 && dtype == int32) || (kind == Kind::I64 && dtype == int64) ||
         (kind == Kind::U64 && dtype == uint64);
}

// Elements of the pieces in which loops work: they stay in the first cache.
inline constexpr int64_t kPiece = 512;

// `step` is in elements, and may be 0 or negative.
using LoadFunction = void (*)(const std::byte* from, int64_t step, void* to, int64_t count);
using StoreFunction = void (*)(const void* from, std::byte* to, int64_t step, int64_t count);
LoadFunction loader(Dtype dtype, Kind kind);
StoreFunction storer(Kind kind, Dtype dtype);

// Steps in elements of each side's type.
void convert(const std::byte* from, Dtype from_type, int64_t from_step, std::byte* to,
             Dtype to_type, int64_t to_step, int64_t count);

}  // namespace pippin::mx
