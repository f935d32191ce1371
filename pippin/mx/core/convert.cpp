#include "pippin/mx/core/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "pippin/base/error.h"
#include "pippin/mx/core/chosen_kernels.h"

namespace pippin::mx {
namespace {

// Calls body(Type<T>) with the C++ type of the dtype. Not for complex64.
template <typename Body>
auto with_type(Dtype dtype, Body body) {
  switch (dtype) {
    case Dtype::Bool:
      return body(Type<bool>());
    case Dtype::UInt8:
      return body(Type<uint8_t>());
    case Dtype::UInt16:
      return body(Type<uint16_t>());
    case Dtype::UInt32:
      return body(Type<uint32_t>());
    case Dtype::UInt64:
      return body(Type<uint64_t>());
    case Dtype::Int8:
      return body(Type<int8_t>());
    case Dtype::Int16:
      return body(Type<int16_t>());
    case Dtype::Int32:
      return body(Type<int32_t>());
    case Dtype::Int64:
      return body(Type<int64_t>());
    case Dtype::Float16:
      return body(Type<pippin::float16>());
    case Dtype::BFloat16:
      return body(Type<pippin::bfloat16>());
    case Dtype::Float64:
      return body(Type<double>());
    default:
      return body(Type<float>());
  }
}

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, pippin::float16> || std::is_same_v<T, pippin::bfloat16>;

// Integers wrap through uint64_t; floats saturate at 64 bits; NaN becomes 0.
template <typename To, typename From>
To number(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<To> || !std::is_floating_point_v<From>) {
    return static_cast<To>(value);
  } else {
    if (value >= From(0x1p63)) {
      if constexpr (std::is_same_v<To, uint64_t>) {
        return value >= From(0x1p64) ? std::numeric_limits<uint64_t>::max()
                                     : static_cast<uint64_t>(value);
      }
      return static_cast<To>(std::numeric_limits<int64_t>::max());
    }
    if (!(value >= From(-0x1p63))) {
      return static_cast<To>(value < From(0) ? std::numeric_limits<int64_t>::min() : 0);
    }
    return static_cast<To>(static_cast<int64_t>(value));
  }
}

template <typename To, typename From>
To cast(From value) {
  if constexpr (std::is_same_v<From, bool>) {
    return number<To>(static_cast<int>(value));
  } else if constexpr (kIsHalf<From>) {
    return number<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, pippin::float16>) {
    return to_float16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, pippin::bfloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else {
    return number<To>(value);
  }
}

template <typename From, typename To>
void load_run(const std::byte* from, int64_t step, void* to, int64_t count) {
  const auto* source = reinterpret_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = cast<To>(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = cast<To>(source[i * step]);
  }
}

template <typename From, typename To>
void store_run(const void* from, std::byte* to, int64_t step, int64_t count) {
  const auto* source = static_cast<const From*>(from);
  auto* target = reinterpret_cast<To*>(to);
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = cast<To>(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * step] = cast<To>(source[i]);
  }
}

// Contiguous halves, which the project's kernels convert.
template <bool kIsBf16>
void load_halves(const std::byte* from, int64_t step, void* to, int64_t count) {
  using Half = std::conditional_t<kIsBf16, pippin::bfloat16, pippin::float16>;
  if (step != 1) return load_run<Half, float>(from, step, to, count);
  (kIsBf16 ? elementwise_kernels().bf16_to_f32 : elementwise_kernels().f16_to_f32)(
      reinterpret_cast<const uint16_t*>(from), static_cast<float*>(to), count);
}
template <bool kIsBf16>
void store_halves(const void* from, std::byte* to, int64_t step, int64_t count) {
  using Half = std::conditional_t<kIsBf16, pippin::bfloat16, pippin::float16>;
  if (step != 1) return store_run<float, Half>(from, to, step, count);
  (kIsBf16 ? elementwise_kernels().f32_to_bf16 : elementwise_kernels().f32_to_f16)(
      static_cast<const float*>(from), reinterpret_cast<uint16_t*>(to), count);
}

template <typename T>
void copy_run(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
              int64_t count) {
  const auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) target[i * to_step] = source[i * from_step];
}

void copy_same(size_t size, const std::byte* from, int64_t from_step, std::byte* to,
               int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    if (count > 0) std::memmove(to, from, static_cast<size_t>(count) * size);
    return;
  }
  with_unsigned(size, [&](auto type) {
    copy_run<typename decltype(type)::type>(from, from_step, to, to_step, count);
  });
}

// complex64 to and from real numbers: the real part.
void convert_complex(const std::byte* from, Dtype from_type, int64_t from_step, std::byte* to,
                     Dtype to_type, int64_t to_step, int64_t count) {
  if (from_type == complex64) {
    if (to_type == bool_) {
      const auto* source = reinterpret_cast<const complex64_t*>(from);
      for (int64_t i = 0; i < count; ++i) {
        const complex64_t value = source[i * from_step];
        to[i * to_step] = std::byte{value.real != 0 || value.imag != 0};
      }
      return;
    }
    return convert(from, float32, 2 * from_step, to, to_type, to_step, count);
  }
  convert(from, from_type, from_step, to, float32, 2 * to_step, count);
  auto* target = reinterpret_cast<complex64_t*>(to);
  for (int64_t i = 0; i < count; ++i) target[i * to_step].imag = 0;
}

}  // namespace

Kind kind_of(Dtype dtype, const char* op) {
  switch (dtype) {
    case complex64:
      fail(ErrorCode::Unsupported, "[{}] complex64 is not supported.", op);
    case float64:
      return Kind::F64;
    case float16:
    case bfloat16:
    case float32:
      return Kind::F32;
    case uint64:
      return Kind::U64;
    case uint32:
    case int64:
      return Kind::I64;
    default:
      return Kind::I32;
  }
}

LoadFunction loader(Dtype dtype, Kind kind) {
  if (kind == Kind::F32 && dtype == float16) return load_halves<false>;
  if (kind == Kind::F32 && dtype == bfloat16) return load_halves<true>;
  return with_type(dtype, [&](auto from) {
    return with_kind(kind, [&](auto to) -> LoadFunction {
      return load_run<typename decltype(from)::type, typename decltype(to)::type>;
    });
  });
}

StoreFunction storer(Kind kind, Dtype dtype) {
  if (kind == Kind::F32 && dtype == float16) return store_halves<false>;
  if (kind == Kind::F32 && dtype == bfloat16) return store_halves<true>;
  return with_kind(kind, [&](auto from) {
    return with_type(dtype, [&](auto to) -> StoreFunction {
      return store_run<typename decltype(from)::type, typename decltype(to)::type>;
    });
  });
}

void convert(const std::byte* from, Dtype from_type, int64_t from_step, std::byte* to,
             Dtype to_type, int64_t to_step, int64_t count) {
  if (from_type == to_type) {
    return copy_same(size_of(to_type), from, from_step, to, to_step, count);
  }
  if (from_type == complex64 || to_type == complex64) {
    return convert_complex(from, from_type, from_step, to, to_type, to_step, count);
  }
  // Integers are converted to floats in one rounding, so the kind is the target's if it is a float.
  const Kind kind = to_type == float64 ? Kind::F64
                    : is_floating(to_type) && !is_floating(from_type)
                        ? Kind::F32
                        : kind_of(from_type, "astype");
  const LoadFunction load = loader(from_type, kind);
  const StoreFunction store = storer(kind, to_type);
  if (count == 1) {
    uint64_t value;
    load(from, 1, &value, 1);
    return store(&value, to, 1, 1);
  }
  if (to_step == 1 && is_native(to_type, kind)) return load(from, from_step, to, count);
  if (from_step == 1 && is_native(from_type, kind)) return store(from, to, to_step, count);
  alignas(64) std::byte piece[kPiece * 8];
  const auto from_bytes = from_step * static_cast<int64_t>(size_of(from_type));
  const auto to_bytes = to_step * static_cast<int64_t>(size_of(to_type));
  for (int64_t i = 0; i < count; i += kPiece) {
    const int64_t n = std::min(kPiece, count - i);
    load(from + i * from_bytes, from_step, piece, n);
    store(piece, to + i * to_bytes, to_step, n);
  }
}

}  // namespace pippin::mx
