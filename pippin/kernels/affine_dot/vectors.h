// affine_dot.h over the vectors of vec/: an ISA file includes one vec header and defines, before
// this, for words of eight 4-bit codes:
//   Codes4                      converts codes into floats
//   W load_words(const uint8_t* p, int64_t count)   kLanes words, zeros from `count` on
//   F code(Codes4, W words, int j)                  code j of each word as a float
// and F load_bytes(const uint8_t* p), F load_nibbles(const uint8_t* p): kLanes codes of 8 and 4
// bits as floats.
//
// Lanes stay within a group so that the group's sum can be scaled: with 4 bits, lane l of a block
// holds columns 8 l to 8 l + 7, which all belong to one group.
#pragma once

#include "pippin/kernels/affine_dot/args.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kBytesAhead = 1024, kRowsAhead = 4;  // prefetched per stream

// The scales of a row as floats, and the biases' contribution to y, as lanes to be added.
template <int kRows>
struct RowStart {
  float scales[kMostAffineGroups + kLanes];
  F biases[kRows];
};

PIPPIN_VEC F load_numbers(const void* p, WeightType type, int64_t at, int64_t count) {
  const bool whole = count >= kLanes;
  if (type == WeightType::F32) {
    const float* from = static_cast<const float*>(p) + at;
    return whole ? load(from) : load_part(from, count);
  }
  const uint16_t* from = static_cast<const uint16_t*>(p) + at;
  if (type == WeightType::F16) return whole ? load_f16(from) : load_part_f16(from, count);
  return whole ? load_bf16(from) : load_part_bf16(from, count);
}

PIPPIN_VEC float one_number(const void* p, WeightType type, int64_t at) {
  float first[kLanes];
  store(first, load_numbers(p, type, at, 1));
  return first[0];
}

PIPPIN_VEC F load_first(const float* p, int64_t count) {
  return count >= kLanes ? load(p) : load_part(p, count);
}

// `units`: factors for the scales, or null.
template <int kRows>
PIPPIN_VEC void start_row(const AffineDotArgs& a, int64_t j, const float* units,
                          RowStart<kRows>& start) {
  const AffineMatrix& w = *a.w;
  const AffineRows& x = *a.x;
  const int64_t bytes = x.groups * (w.type == WeightType::F32 ? 4 : 2);
  for (int64_t at = 0; at < bytes; at += 64) {
    const int64_t ahead = (j + kRowsAhead) * bytes + at;
    __builtin_prefetch(static_cast<const uint8_t*>(w.scales) + ahead);
    __builtin_prefetch(static_cast<const uint8_t*>(w.biases) + ahead);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) start.biases[r] = set(0);
  for (int64_t g = 0; g < x.groups; g += kLanes) {
    const int64_t left = x.groups - g;
    F scales = load_numbers(w.scales, w.type, j * x.groups + g, left);
    if (units != nullptr) scales = scales * load_first(units + g, left);
    store(start.scales + g, scales);
    const F biases = load_numbers(w.biases, w.type, j * x.groups + g, left);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F sums = load_first(x.sums + r * x.groups + g, left);
      start.biases[r] = fma(biases, sums, start.biases[r]);
    }
  }
}

// Stores y for the rows j, j + stride, ... of W, from lanes to be added.
template <int kRows, int kColumns>
PIPPIN_VEC void end_rows(const AffineDotArgs& a, int64_t j, int64_t stride,
                         const F (&totals)[kColumns][kRows]) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float sums[4];
    const F& last = totals[kColumns - 1][r];
    store4(sums,
           sum4(totals[0][r], totals[1][r], kColumns > 2 ? totals[2 % kColumns][r] : last, last));
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      if (j + c * stride < a.n_end) a.y[r * a.y_stride + j + c * stride] = sums[c];
    }
  }
}

// The rows j, j + stride, ... of W, kColumns at a time to hide the latency of an fma.
template <int kRows, int kColumns>
PIPPIN_VEC void dot4(const AffineDotArgs& a, int64_t j, int64_t stride) {
  const AffineMatrix& w = *a.w;
  const AffineRows& x = *a.x;
  const Codes4 codes;
  RowStart<kRows> start[kColumns];
  const uint8_t* rows[kColumns];
  F totals[kColumns][kRows];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = smaller_of(j + c * stride, a.n_end - 1);
    start_row<kRows>(a, column, nullptr, start[c]);
    rows[c] = w.codes + column * (w.k / 2);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) totals[c][r] = start[c].biases[r];
  }
  constexpr int64_t kBlock = 8 * kLanes;
  const GroupScales pick(w.group);
  for (int64_t k = 0; k < w.k; k += kBlock) {
    W words[kColumns];
    F parts[kColumns][kRows];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      __builtin_prefetch(rows[c] + k / 2 + kBytesAhead);
      words[c] = load_words(rows[c] + k / 2, (w.k - k) / 8);
    }
#pragma GCC unroll 8
    for (int place = 0; place < 8; ++place) {
      F activations[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        activations[r] = load(x.values + r * x.padded + k + place * kLanes);
      }
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const F value = code(codes, words[c], place);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          parts[c][r] =
              place == 0 ? value * activations[r] : fma(value, activations[r], parts[c][r]);
        }
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const F scales = pick.at(start[c].scales, k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) totals[c][r] = fma(parts[c][r], scales, totals[c][r]);
    }
  }
  end_rows<kRows, kColumns>(a, j, stride, totals);
}

template <int kRows, int kColumns>
PIPPIN_VEC void dot8(const AffineDotArgs& a, int64_t j, int64_t stride) {
  const AffineMatrix& w = *a.w;
  const AffineRows& x = *a.x;
  RowStart<kRows> start[kColumns];
  const uint8_t* rows[kColumns];
  F totals[kColumns][kRows];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = smaller_of(j + c * stride, a.n_end - 1);
    start_row<kRows>(a, column, nullptr, start[c]);
    rows[c] = w.codes + column * w.k;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) totals[c][r] = start[c].biases[r];
  }
  for (int64_t g = 0; g < x.groups; ++g) {
    F parts[kColumns][kRows];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) parts[c][r] = set(0);
    }
    for (int64_t k = g * w.group; k < (g + 1) * w.group; k += kLanes) {
      F activations[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) activations[r] = load(x.values + r * x.padded + k);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        __builtin_prefetch(rows[c] + k + kBytesAhead);
        const F value = load_bytes(rows[c] + k);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) parts[c][r] = fma(value, activations[r], parts[c][r]);
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const F scale = set(start[c].scales[g]);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) totals[c][r] = fma(parts[c][r], scale, totals[c][r]);
    }
  }
  end_rows<kRows, kColumns>(a, j, stride, totals);
}

// Whole registers of 4- and 8-bit codes; the rest as in the reference.
void expand(const AffineMatrix& w, int64_t j, int64_t begin, int64_t end, float* y) noexcept {
  if ((w.bits != 4 && w.bits != 8) || begin % kLanes != 0 || w.group % kLanes != 0) {
    return affine_dot_scalar.expand(w, j, begin, end, y);
  }
  const uint8_t* row = w.codes + j * w.k * w.bits / 8;
  const int64_t groups = w.k / w.group;
  int64_t k = begin;
  while (k + kLanes <= end) {
    const int64_t g = k / w.group, left = (g + 1) * w.group;
    const F scale = set(one_number(w.scales, w.type, j * groups + g));
    const F bias = set(one_number(w.biases, w.type, j * groups + g));
    for (; k + kLanes <= (left < end ? left : end); k += kLanes) {
      const F codes = w.bits == 4 ? load_nibbles(row + k / 2) : load_bytes(row + k);
      store(y + k - begin, fma(codes, scale, bias));
    }
  }
  if (k < end) affine_dot_scalar.expand(w, j, k, end, y + k - begin);
}

// Multiplies floats of x with codes of any width.
struct FloatDot {
  template <int kRows, int kColumns>
  static PIPPIN_VEC void rows(const AffineDotArgs& a, int64_t j, int64_t stride) {
    if (a.w->bits == 4) {
      dot4<kRows, kColumns>(a, j, stride);
    } else {
      dot8<kRows, kColumns>(a, j, stride);
    }
  }
};

template <typename Dot, int kRows, int kColumns>
void dot_rows(const AffineDotArgs& a) {
  // As many streams of consecutive rows as columns: hardware prefetches consecutive rows.
  const int64_t stride = (a.n_end - a.n_begin + kColumns - 1) / kColumns;
  for (int64_t j = a.n_begin; j < a.n_begin + stride; ++j) {
    Dot::template rows<kRows, kColumns>(a, j, stride);
  }
}

template <typename Dot>
void dot_with(const AffineDotArgs& a) noexcept {
  switch (a.x->m) {
    case 1:
      return dot_rows<Dot, 1, 4>(a);
    case 2:
      return dot_rows < Dot, 2, kManyRegisters ? 4 : 2 > (a);
    case 3:
      return dot_rows<Dot, 3, 2>(a);
    case 4:
      return dot_rows<Dot, 4, 2>(a);
    default:
      return;
  }
}

}  // namespace
}  // namespace pippin::kernels
