// Quantized caches in few.h and many.h (cache_codes.h describes their rows). Scores are products of
// queries with codes, times the scales; weights take the values' scales before they multiply codes.
// Codes of 4 bits become bytes a chunk at a time.
#pragma once

#include "pippin/kernels/attention/tile.h"
#include "pippin/kernels/vec/signed_bytes.h"

namespace pippin::kernels {
namespace {

struct StoredQ8 {
  using Element = int8_t;
  static constexpr bool kIsCoded = true;
};
struct StoredQ4 {
  using Element = uint8_t;
  static constexpr bool kIsCoded = true;
};
template <typename Stored>
constexpr bool kHasCodes = requires {
  Stored::kIsCoded;
};
// Whether queries and weights may be rounded to integers: Stored::Products multiplies those.
template <typename Stored>
constexpr bool kMayRound = requires {
  typename Stored::Products;
};

template <typename Element>
constexpr bool kHalfBytes = false;
template <>
constexpr bool kHalfBytes<uint8_t> = true;

template <typename Stored>
PIPPIN_VEC int64_t row_bytes(int64_t dims) {
  using Element = typename Stored::Element;
  return kHasCodes<Stored> && kHalfBytes<Element> ? dims / 2
                                                  : dims * static_cast<int64_t>(sizeof(Element));
}

// The most scales of a row.
PIPPIN_VEC int64_t groups_of(const AttentionArgs& a) {
  if (a.k_group == 0) return 0;
  const int64_t keys = a.head_dim / a.k_group, values = a.value_dim / a.v_group;
  return keys > values ? keys : values;
}

// Rows of keys or values of one head.
template <typename Element>
struct CodedRows {
  const Element* codes;  // the first row
  int64_t stride;        // bytes
  const uint16_t* scales;
  int64_t scale_stride, group, dims;

  CodedRows from(int64_t row) const {
    return {codes + row * stride, stride, scales + row * scale_stride, scale_stride, group, dims};
  }
};
template <typename Element>
CodedRows<Element> coded_keys(const AttentionArgs& a, int64_t kv_head) {
  return {static_cast<const Element*>(a.k) + kv_head * a.k_head_stride,
          a.k_key_stride,
          a.k_scales + kv_head * a.k_scale_head_stride,
          a.k_scale_key_stride,
          a.k_group,
          a.head_dim};
}
template <typename Element>
CodedRows<Element> coded_values(const AttentionArgs& a, int64_t kv_head) {
  return {static_cast<const Element*>(a.v) + kv_head * a.v_head_stride,
          a.v_key_stride,
          a.v_scales + kv_head * a.v_scale_head_stride,
          a.v_scale_key_stride,
          a.v_group,
          a.value_dim};
}

// Rows with a byte per code and scales in fp32, [rows, groups].
struct Bytes {
  const int8_t* codes;
  int64_t stride;
  const float* scales;
  int64_t groups, group;
};

// Queries as codes, with a scale for each group of a key's codes.
struct RoundedQueries {
  int8_t* codes;  // [queries, dims]
  float* scales;  // [queries, groups]
  int32_t* sums;  // of codes, [queries, groups]

  PIPPIN_VEC RoundedQueries from(int64_t query, int64_t dims, int64_t groups) const {
    return {codes + query * dims, scales + query * groups, sums + query * groups};
  }
};

[[maybe_unused]] void round_queries(const float* q, int64_t queries, int64_t dims, int64_t group,
                                    float scale, const RoundedQueries& to) {
  const int64_t groups = dims / group;
  for (int64_t i = 0; i < queries * groups; ++i) {
    const float* x = q + i * group;
    int8_t* codes = to.codes + i * group;
    float largest = 0;
    bool is_number = true;
    for (int64_t d = 0; d < group; ++d) {
      const float size = __builtin_fabsf(x[d]);
      largest = size > largest ? size : largest;
      is_number = is_number && size <= 3.0e38f;
    }
    const float inverse = largest > 1e-30f ? 127 / largest : 0;
    int32_t sum = 0;
    for (int64_t d = 0; d < group; ++d) {
      constexpr float kRound = 12582912;  // adding 1.5 * 2^23 rounds to the nearest integer
      const float code = is_number ? (x[d] * inverse + kRound) - kRound : 0;
      codes[d] = static_cast<int8_t>(static_cast<int32_t>(code));
      sum += codes[d];
    }
    to.sums[i] = sum;
    to.scales[i] = is_number ? scale * (largest / 127) : __builtin_nanf("");
  }
}

void widen_q4(const uint8_t* from, int64_t dims, int8_t* to) {
  const int64_t half = dims / 2;
  for (int64_t i = 0; i < half; ++i) {
    to[i] = static_cast<int8_t>((from[i] & 15) - 8);
    to[half + i] = static_cast<int8_t>((from[i] >> 4) - 8);
  }
}

template <typename Element>
void copy_scales(const CodedRows<Element>& rows, int64_t count, float* to) {
  const int64_t groups = rows.dims / rows.group;
  const auto copy = [](const uint16_t* from, int64_t n, float* into) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(into + i, load_f16(from + i));
    if (i < n) store_part(into + i, load_part_f16(from + i, n - i), n - i);
  };
  if (rows.scale_stride == groups) return copy(rows.scales, count * groups, to);
  for (int64_t r = 0; r < count; ++r)
    copy(rows.scales + r * rows.scale_stride, groups, to + r * groups);
}

// Uses `scales` and `codes` as memory: count * groups floats, count * dims bytes.
PIPPIN_VEC Bytes bytes_of(const CodedRows<int8_t>& rows, int64_t count, float* scales, int8_t*) {
  copy_scales(rows, count, scales);
  return {rows.codes, rows.stride, scales, rows.dims / rows.group, rows.group};
}
PIPPIN_VEC Bytes bytes_of(const CodedRows<uint8_t>& rows, int64_t count, float* scales,
                          int8_t* codes) {
  copy_scales(rows, count, scales);
  for (int64_t r = 0; r < count; ++r) {
    widen_q4(rows.codes + r * rows.stride, rows.dims, codes + r * rows.dims);
  }
  return {codes, rows.dims, scales, rows.dims / rows.group, rows.group};
}

// The floats of rows, [count, dims].
template <typename Element>
void floats_of_codes(const CodedRows<Element>& rows, int64_t count, float* to) {
  for (int64_t r = 0; r < count; ++r, to += rows.dims) {
    const int8_t* codes = reinterpret_cast<const int8_t*>(rows.codes + r * rows.stride);
    if constexpr (kHalfBytes<Element>) {
      // At the end of the row's own floats: each vector is read before it is overwritten.
      int8_t* const end = reinterpret_cast<int8_t*>(to + rows.dims) - rows.dims;
      widen_q4(rows.codes + r * rows.stride, rows.dims, end);
      codes = end;
    }
    for (int64_t first = 0; first < rows.dims; first += rows.group) {
      float scale[kLanes];
      store(scale, load_part_f16(rows.scales + r * rows.scale_stride + first / rows.group, 1));
      const F factor = set(scale[0]);
      int64_t i = first;
      const int64_t last = first + rows.group;
      for (; i + kLanes <= last; i += kLanes) store(to + i, load_i8(codes + i) * factor);
      if (i < last) store_part(to + i, load_part_i8(codes + i, last - i) * factor, last - i);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
