// Passes over many tokens with the vectors of vec/, for vectors.h: rows of the state become lanes,
// so that no sum runs across lanes, and decays are factored out of the products:
//
//   s[t] = P[t] * z[t],  P[t] = decay[t] * P[t - 1]:  z[t] = z[t - 1] + x[t] / P[t] · keys[t],
//
// which needs one product per element instead of two. When P leaves the range [2^-24, 2^24], it is
// multiplied into z and restarts: nothing overflows that would not otherwise, and nothing is lost.
#pragma once

#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kPair = 2 * kLanes;             // rows of a state at a time
constexpr int kColumns = kManyRegisters ? 8 : 4;  // columns kept in registers
static_assert(kPair <= kPassRows);

// The working memory of a pass, in the caller's scratch.
struct Pass {
  float* z;                      // [n, kPair]
  float *x, *y;                  // [kPassTokens, kPair]
  float *carry, *into, *out_of;  // factor of z before a token; 1 / P; P

  Pass(float* scratch, int64_t n)
      : z(scratch),
        x(z + n * kPair),
        y(x + kPassTokens * kPair),
        carry(y + kPassTokens * kPair),
        into(carry + kPassTokens),
        out_of(into + kPassTokens) {}

  // Fills the factors for tokens, starting with the first P; returns the last token's P.
  PIPPIN_VEC float scale(const float* decay, int64_t tokens) const {
    float product = 1;
    for (int64_t t = 0; t < tokens; ++t) {
      product *= decay[t];
      carry[t] = 1;
      if (!(product >= 0x1p-24f && product <= 0x1p24f)) {
        carry[t] = product;
        product = 1;
      }
      into[t] = 1 / product;
      out_of[t] = product;
    }
    return product;
  }
};

PIPPIN_VEC F at_most(const float* p, int64_t count) {
  return count >= kLanes ? load(p) : count <= 0 ? set(0) : load_part(p, count);
}
PIPPIN_VEC void put_at_most(float* p, F x, int64_t count) {
  if (count >= kLanes) {
    store(p, x);
  } else if (count > 0) {
    store_part(p, x, count);
  }
}

// A vector of y plus the skipped part.
PIPPIN_VEC F with_skipped(const RecurrenceArgs& a, int64_t t, int64_t row, int64_t count, F y) {
  if (a.skip == nullptr) return y;
  return fma(at_most(a.x + t * a.x_stride + row, count), set(*a.skip), y);
}

// Loads rows [row, row + count) of the state as columns of z; and stores them back.
PIPPIN_VEC void read_columns(const RecurrenceArgs& a, const Pass& pass, int64_t row,
                             int64_t count) {
  for (int64_t half = 0; half < kPair; half += kLanes) {
    for (int64_t from = 0; from < a.n; from += kLanes) {
      F tile[kLanes];
      for (int64_t r = 0; r < kLanes; ++r) {
        const float* p = a.state + (row + half + r) * a.state_stride + from;
        tile[r] = half + r < count ? at_most(p, a.n - from) : set(0);
      }
      transpose(tile);
      for (int64_t i = 0; i < smaller_of(kLanes, a.n - from); ++i) {
        store(pass.z + (from + i) * kPair + half, tile[i]);
      }
    }
  }
}
PIPPIN_VEC void write_columns(const RecurrenceArgs& a, const Pass& pass, int64_t row,
                              int64_t count) {
  for (int64_t half = 0; half < kPair; half += kLanes) {
    for (int64_t from = 0; from < a.n; from += kLanes) {
      F tile[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        tile[i] = from + i < a.n ? load(pass.z + (from + i) * kPair + half) : set(0);
      }
      transpose(tile);
      for (int64_t r = 0; r < smaller_of(kLanes, count - half); ++r) {
        put_at_most(a.state + (row + half + r) * a.state_stride + from, tile[r], a.n - from);
      }
    }
  }
}

// Elements [from, from + kCount) of the rows, for all tokens of a pass.
template <int kCount>
PIPPIN_VEC void pass_columns(const RecurrenceArgs& a, const Pass& pass, int64_t begin,
                             int64_t tokens, int64_t from, float last) {
  F z[kCount][2];
  float* place = pass.z + from * kPair;
  for (int i = 0; i < kCount; ++i) {
    z[i][0] = load(place + i * kPair);
    z[i][1] = load(place + i * kPair + kLanes);
  }
  const float* keys = a.keys + begin * a.key_stride + from;
  const float* queries = a.queries + begin * a.query_stride + from;
  for (int64_t t = 0; t < tokens; ++t, keys += a.key_stride, queries += a.query_stride) {
    if (pass.carry[t] != 1) {
      const F carry = set(pass.carry[t]);
      for (int i = 0; i < kCount; ++i) {
        z[i][0] = z[i][0] * carry;
        z[i][1] = z[i][1] * carry;
      }
    }
    const float* x = pass.x + t * kPair;
    float* y = pass.y + t * kPair;
    const F x0 = load(x), x1 = load(x + kLanes);
    F y0 = load(y), y1 = load(y + kLanes);
    for (int i = 0; i < kCount; ++i) {
      const F key = set(keys[i]), query = set(queries[i]);
      z[i][0] = fma(x0, key, z[i][0]);
      z[i][1] = fma(x1, key, z[i][1]);
      y0 = fma(z[i][0], query, y0);
      y1 = fma(z[i][1], query, y1);
    }
    store(y, y0);
    store(y + kLanes, y1);
  }
  const F scale = set(last);
  for (int i = 0; i < kCount; ++i) {
    store(place + i * kPair, z[i][0] * scale);
    store(place + i * kPair + kLanes, z[i][1] * scale);
  }
}

void decayed_pass(const RecurrenceArgs& a, const float* decay, float* scratch) noexcept {
  const Pass pass(scratch, a.n);
  for (int64_t row = 0; row < a.rows; row += kPair) {
    const int64_t count = smaller_of(kPair, a.rows - row);
    read_columns(a, pass, row, count);
    for (int64_t begin = 0; begin < a.tokens; begin += kPassTokens) {
      const int64_t tokens = smaller_of(kPassTokens, a.tokens - begin);
      const float last = pass.scale(decay + begin, tokens);
      for (int64_t t = 0; t < tokens; ++t) {
        const float* x = a.x + (begin + t) * a.x_stride + row;
        const float scale = a.scales == nullptr ? 1 : a.scales[begin + t];
        const F into = set(scale * pass.into[t]);
        for (int64_t half = 0; half < kPair; half += kLanes) {
          store(pass.x + t * kPair + half, at_most(x + half, count - half) * into);
          store(pass.y + t * kPair + half, set(0));
        }
      }
      int64_t from = 0;
      for (; from + kColumns <= a.n; from += kColumns) {
        pass_columns<kColumns>(a, pass, begin, tokens, from, last);
      }
      for (; from < a.n; ++from) pass_columns<1>(a, pass, begin, tokens, from, last);
      for (int64_t t = 0; t < tokens; ++t) {
        float* y = a.y + (begin + t) * a.y_stride + row;
        for (int64_t half = 0; half < kPair; half += kLanes) {
          const F read = load(pass.y + t * kPair + half) * set(pass.out_of[t]);
          put_at_most(y + half, with_skipped(a, begin + t, row + half, count - half, read),
                      count - half);
        }
      }
    }
    write_columns(a, pass, row, count);
  }
}

// The values that a token adds, per row, and the products with its key and query.
struct Pair {
  F a, b;
};

PIPPIN_VEC float product_of(const float* a, const float* b, int64_t n) {
  F total = set(0);
  for (int64_t i = 0; i < n; i += kLanes) {
    total = fma(at_most(a + i, n - i), at_most(b + i, n - i), total);
  }
  return sum(total);
}

void delta_pass(const RecurrenceArgs& a, const DeltaDecay& decay, float* scratch) noexcept {
  const Pass pass(scratch, a.n);
  for (int64_t row = 0; row < a.rows; row += kPair) {
    const int64_t count = smaller_of(kPair, a.rows - row);
    read_columns(a, pass, row, count);
    for (int64_t begin = 0; begin < a.tokens; begin += kPassTokens) {
      const int64_t tokens = smaller_of(kPassTokens, a.tokens - begin);
      const float last = pass.scale(decay.decay + begin, tokens);
      // The previous token's update is added to z during the next one's products.
      Pair added = {set(0), set(0)};
      const float* before = a.keys + begin * a.key_stride;
      for (int64_t t = 0; t < tokens; ++t) {
        const float* keys = a.keys + (begin + t) * a.key_stride;
        const float* queries = a.queries + (begin + t) * a.query_stride;
        if (pass.carry[t] != 1) {
          const F carry = set(pass.carry[t]);
          for (int64_t i = 0; i < a.n * kPair; i += kLanes)
            store(pass.z + i, load(pass.z + i) * carry);
          added = {added.a * carry, added.b * carry};
        }
        Pair known = {set(0), set(0)}, read = {set(0), set(0)};
        for (int64_t i = 0; i < a.n; ++i) {
          float* z = pass.z + i * kPair;
          const F last_key = set(before[i]), key = set(keys[i]), query = set(queries[i]);
          const F z0 = fma(added.a, last_key, load(z));
          const F z1 = fma(added.b, last_key, load(z + kLanes));
          store(z, z0);
          store(z + kLanes, z1);
          known = {fma(z0, key, known.a), fma(z1, key, known.b)};
          read = {fma(z0, query, read.a), fma(z1, query, read.b)};
        }
        const F both = set(product_of(keys, queries, a.n));
        const float* x = a.x + (begin + t) * a.x_stride + row;
        float* y = a.y + (begin + t) * a.y_stride + row;
        const F rate = set(decay.rates[begin + t] * pass.into[t]), product = set(pass.out_of[t]);
        added.a = rate * fnma(product, known.a, at_most(x, count));
        added.b = rate * fnma(product, known.b, at_most(x + kLanes, count - kLanes));
        const Pair result = {product * fma(added.a, both, read.a),
                             product * fma(added.b, both, read.b)};
        put_at_most(y, with_skipped(a, begin + t, row, count, result.a), count);
        put_at_most(y + kLanes, with_skipped(a, begin + t, row + kLanes, count - kLanes, result.b),
                    count - kLanes);
        before = keys;
      }
      const F scale = set(last);
      for (int64_t i = 0; i < a.n; ++i) {
        float* z = pass.z + i * kPair;
        store(z, fma(added.a, set(before[i]), load(z)) * scale);
        store(z + kLanes, fma(added.b, set(before[i]), load(z + kLanes)) * scale);
      }
    }
    write_columns(a, pass, row, count);
  }
}

}  // namespace
}  // namespace pippin::kernels
