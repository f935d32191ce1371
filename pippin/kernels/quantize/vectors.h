// Linear quantization over the vectors that the includer has chosen, in two layouts: elements of
// one block across lanes, with sums in 16 columns whatever a register holds, so that every
// instruction set adds in the same order; and small blocks, one per lane, so that no sum runs
// across lanes.
#pragma once

#include "pippin/kernels/quantize/args.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kColumns = 16;
constexpr int64_t kParts = kColumns / kLanes;
// The number of elements whose sums stay in floats.
constexpr int64_t kFlush = 1024;
// Adding and subtracting it rounds a float of magnitude below 2^22 to the nearest integer.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23

// One float for each of the columns.
struct Row {
  F parts[kParts];

  PIPPIN_VEC double total() const {
    float columns[kColumns];
    for (int64_t i = 0; i < kParts; ++i) store(columns + i * kLanes, parts[i]);
    double sum = 0;
    for (const float column : columns) sum += double{column};
    return sum;
  }
};
PIPPIN_VEC Row zeros() {
  Row row;
  for (F& part : row.parts) part = set(0);
  return row;
}

struct Rounding {
  F inverse, low, high;
  PIPPIN_VEC explicit Rounding(const LinearRounding& to)
      : inverse(set(1 / to.scale)), low(set(to.low)), high(set(to.high)) {}
  PIPPIN_VEC F operator()(F x) const { return round(min(max(x * inverse, low), high)); }
};
PIPPIN_VEC float nearest(float x, const LinearRounding& to) {
  float p = x * (1 / to.scale);
  p = p > to.low ? p : to.low;
  p = p < to.high ? p : to.high;
  return (p + kRound) - kRound;
}

template <bool kWeighted>
void measure_block(const float* x, const float* weights, int64_t count, const LinearRounding& to,
                   LinearSums* sums) {
  const Rounding rounded(to);
  const F scale = set(to.scale);
  const int64_t whole = count / kColumns * kColumns;
  *sums = {};
  for (int64_t i = 0; i < whole;) {
    const int64_t end = i + smaller_of(kFlush, whole - i);
    Row xp = zeros(), pp = zeros(), ps = zeros(), error = zeros();
    for (; i < end; i += kColumns) {
      for (int64_t k = 0; k < kParts; ++k) {
        const F value = load(x + i + k * kLanes);
        const F p = rounded(value);
        const F difference = fnma(p, scale, value);
        F weighted = p, weighted_difference = difference;
        if constexpr (kWeighted) {
          const F weight = load(weights + i + k * kLanes);
          weighted = p * weight;
          weighted_difference = difference * weight;
        }
        xp.parts[k] = fma(value, weighted, xp.parts[k]);
        pp.parts[k] = fma(p, weighted, pp.parts[k]);
        ps.parts[k] = ps.parts[k] + weighted;
        error.parts[k] = fma(difference, weighted_difference, error.parts[k]);
      }
    }
    sums->xp += xp.total();
    sums->pp += pp.total();
    sums->p += ps.total();
    sums->error += error.total();
  }
  for (int64_t i = whole; i < count; ++i) {
    const float p = nearest(x[i], to), weight = kWeighted ? weights[i] : 1.0f;
    const float difference = __builtin_fmaf(-p, to.scale, x[i]);
    sums->xp += double{x[i]} * double{p * weight};
    sums->pp += double{p} * double{p * weight};
    sums->p += double{p * weight};
    sums->error += double{difference} * double{difference * weight};
  }
}
void measure(const float* x, const float* weights, int64_t count, const LinearRounding& to,
             LinearSums* sums) noexcept {
  if (weights == nullptr) return measure_block<false>(x, weights, count, to, sums);
  return measure_block<true>(x, weights, count, to, sums);
}

void encode(const float* x, int64_t count, const LinearRounding& to, int offset,
            uint8_t* codes) noexcept {
  const Rounding rounded(to);
  const I shift = set_i(offset);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store_low_bytes(codes + i, to_int(rounded(load(x + i))) + shift);
  }
  for (; i < count; ++i) {
    codes[i] = static_cast<uint8_t>(static_cast<int>(nearest(x[i], to)) + offset);
  }
}

// The low halves of 8 bytes, as 4.
PIPPIN_VEC uint32_t low_nibbles(const uint8_t* bytes) {
  uint64_t x;
  __builtin_memcpy(&x, bytes, sizeof(x));
  x &= 0x0f0f0f0f0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return static_cast<uint32_t>(x | x >> 16);
}

void pack4(const float* x, int64_t count, int64_t size, const LinearLevels& levels,
           const float* scales, const float* offsets, uint8_t* out, BlockSums* sums) noexcept {
  for (int64_t block = 0; block < count; ++block, x += size) {
    const Rounding rounded(
        {scales[block], levels.lowest - offsets[block], levels.highest - offsets[block]});
    const F scale = set(scales[block]);
    const I shift = set_i(static_cast<int>(offsets[block]));
    Row error = zeros(), energy = zeros();
    for (int64_t i = 0; i < size; i += kColumns) {
      uint8_t codes[kColumns];
      for (int64_t k = 0; k < kParts; ++k) {
        const F value = load(x + i + k * kLanes);
        const F p = rounded(value);
        const F difference = fnma(p, scale, value);
        error.parts[k] = fma(difference, difference, error.parts[k]);
        energy.parts[k] = fma(value, value, energy.parts[k]);
        store_low_bytes(codes + k * kLanes, to_int(p) + shift);
      }
      const uint32_t packed[] = {low_nibbles(codes), low_nibbles(codes + 8)};
      __builtin_memcpy(out, packed, sizeof(packed));
      out += sizeof(packed);
    }
    sums->error += error.total();
    sums->energy += energy.total();
  }
}

// Many small blocks, one per lane.

struct Moments {
  F xp, pp, p, error;
};

struct Limits {
  F lowest, highest, middle, count;
  bool symmetric, half_scale;
};

PIPPIN_VEC F as_half(F x) {
  uint16_t halves[kLanes];
  store_f16(halves, x);
  return load_f16(halves);
}

F stored_scale(F scale, const Limits& limits) {
  const F smallest = set(limits.half_scale ? 0x1p-24f : 0x1p-120f);
  const F largest = set(limits.half_scale ? 65504.0f : 0x1.fffffep127f);
  if (limits.half_scale) scale = as_half(scale);
  return copy_sign(min(max(abs(scale), smallest), largest), scale);
}

template <bool kWeighted>
Moments measure_lanes(const float* values, const float* weights, int64_t size, F scale, F offset,
                      const Limits& limits) {
  const F inverse = set(1.0f) / scale;
  const F low = limits.lowest - offset, high = limits.highest - offset;
  Moments sums[2] = {{set(0), set(0), set(0), set(0)}, {set(0), set(0), set(0), set(0)}};
  const auto add = [&](int64_t i, Moments& to) {
    const F x = load(values + i * kLanes);
    const F p = round(min(max(x * inverse, low), high));
    const F difference = fnma(p, scale, x);
    if constexpr (kWeighted) {
      const F w = load(weights + i * kLanes);
      const F weighted = p * w;
      to.xp = fma(x, weighted, to.xp);
      to.pp = fma(p, weighted, to.pp);
      to.p = to.p + weighted;
      to.error = fma(difference, difference * w, to.error);
    } else {
      to.xp = fma(x, p, to.xp);
      to.pp = fma(p, p, to.pp);
      if (!limits.symmetric) to.p = to.p + p;
      to.error = fma(difference, difference, to.error);
    }
  };
  int64_t i = 0;
  for (; i + 2 <= size; i += 2) {
    add(i, sums[0]);
    add(i + 1, sums[1]);
  }
  if (i < size) add(i, sums[0]);
  return {sums[0].xp + sums[1].xp, sums[0].pp + sums[1].pp, sums[0].p + sums[1].p,
          sums[0].error + sums[1].error};
}

template <bool kWeighted>
class Search {
 public:
  // `scale` is kept if every error overflows.
  Search(const float* values, const float* weights, int64_t size, const Limits& limits, F scale)
      : values_(values),
        weights_(weights),
        size_(size),
        limits_(limits),
        scale_(stored_scale(scale, limits)),
        offset_(limits.middle) {
    if (limits.symmetric) return;
    for (int64_t i = 0; i < size; ++i) {
      const F x = load(values + i * kLanes);
      if (kWeighted) {
        const F w = load(weights + i * kLanes);
        sum_ = fma(x, w, sum_);
        total_ = total_ + w;
      } else {
        sum_ = sum_ + x;
      }
    }
    if (!kWeighted) total_ = limits.count;
  }

  void start(F scale, F offset) {
    scale = stored_scale(scale, limits_);
    offset = round(min(max(offset, limits_.lowest), limits_.highest));
    const Moments moments = consider(scale, offset);
    improve(scale, offset, moments);
    consider(scale, offset);
  }

  void finish() {
    for (int turn = 0; turn < 3; ++turn) {
      F scale = scale_, offset = offset_;
      const F before = error_;
      improve(scale, offset, moments_);
      consider(scale, offset);
      if (!any(error_ < before)) return;
    }
  }

  F scale() const { return scale_; }
  F offset() const { return offset_; }

 private:
  Moments consider(F scale, F offset) {
    const Moments moments =
        measure_lanes<kWeighted>(values_, weights_, size_, scale, offset, limits_);
    const M better = moments.error < error_;
    scale_ = select(better, scale, scale_);
    offset_ = select(better, offset, offset_);
    error_ = select(better, moments.error, error_);
    moments_.xp = select(better, moments.xp, moments_.xp);
    moments_.pp = select(better, moments.pp, moments_.pp);
    moments_.p = select(better, moments.p, moments_.p);
    return moments;
  }

  // The least-squares fit of the values to their integers; see Search::improved in
  // compress/linear.cpp.
  void improve(F& scale, F& offset, const Moments& moments) const {
    const F zero = set(0.0f);
    const M known = zero < moments.pp;
    const F pp = select(known, moments.pp, set(1.0f));
    F better_scale = moments.xp / pp;
    F better_offset = offset;
    if (!limits_.symmetric) {
      const F mean_p = moments.p / total_;
      const F spread = fnma(moments.p, mean_p, pp);
      const M wide = set(1e-4f) * pp < spread;
      const F slope = fnma(mean_p, sum_, moments.xp) / select(wide, spread, set(1.0f));
      const F shift = fnma(slope, moments.p, sum_) / total_;
      const M sound = set(1e-37f) < abs(slope);
      const F moved = round(offset - shift / select(sound, slope, set(1.0f)));
      const F bounded = min(max(moved, limits_.lowest), limits_.highest);
      const M takes = wide & sound & (set(0.5f) < abs(bounded - offset));
      better_scale = select(takes, slope, better_scale);
      better_offset = select(takes, bounded, better_offset);
    }
    scale = select(known, stored_scale(better_scale, limits_), scale);
    offset = select(known, better_offset, offset);
  }

  const float *values_, *weights_;
  int64_t size_;
  const Limits& limits_;
  F sum_ = set(0.0f), total_ = set(0.0f);
  F scale_, offset_, error_ = set(0x1.fffffep127f);
  Moments moments_ = {set(0), set(0), set(0), set(0)};
};

template <bool kWeighted>
void search_lanes(const float* values, const float* weights, int64_t size,
                  const LinearLevels& levels, float* scales, float* offsets) {
  const Limits limits = {set(levels.lowest), set(levels.highest),
                         set(levels.middle), set(static_cast<float>(size)),
                         levels.symmetric,   levels.half_scale};
  F least = set(0.0f), most = set(0.0f);
  for (int64_t i = 0; i < size; ++i) {
    const F x = load(values + i * kLanes);
    least = min(least, x);
    most = max(most, x);
  }
  const F zero = set(0.0f);
  const F extreme = select(most < zero - least, least, most);
  const F widest = abs(extreme) / (limits.highest - limits.middle);
  Search<kWeighted> search(values, weights, size, limits, widest);
  for (int64_t i = 0; i < levels.num_shares; ++i) {
    const F share = set(levels.shares[i]);
    search.start(share * widest, limits.middle);
    search.start(share * extreme / (limits.lowest - limits.middle), limits.middle);
    if (!levels.symmetric) {
      const F scale =
          max(share * (most - least) / (limits.highest - limits.lowest), set(0x1p-120f));
      search.start(scale, limits.lowest - share * least / scale);
    }
  }
  search.finish();
  const M is_zero = (zero - set(1e-45f) < least) & (most < set(1e-45f));
  store(scales, select(is_zero, set(1.0f), search.scale()));
  store(offsets, select(is_zero, limits.middle, search.offset()));
}

// scratch[i * kLanes + lane] = value i of that lane's block; the last block fills the remaining
// lanes.
void to_lanes(const float* values, int64_t count, int64_t size, float* scratch) {
  const float* rows[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    rows[lane] = values + smaller_of(lane, count - 1) * size;
  }
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    F corner[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) corner[lane] = load(rows[lane] + i);
    transpose(corner);
    for (int64_t k = 0; k < kLanes; ++k) store(scratch + (i + k) * kLanes, corner[k]);
  }
  for (; i < size; ++i) {
    for (int64_t lane = 0; lane < kLanes; ++lane) scratch[i * kLanes + lane] = rows[lane][i];
  }
}

void choose_scales(const float* x, const float* weights, int64_t count, int64_t size,
                   const LinearLevels& levels, float* scratch, float* scales,
                   float* offsets) noexcept {
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t some = smaller_of(kLanes, count - first);
    float lane_scales[kLanes], lane_offsets[kLanes];
    to_lanes(x + first * size, some, size, scratch);
    if (weights != nullptr) {
      float* lane_weights = scratch + size * kLanes;
      to_lanes(weights + first * size, some, size, lane_weights);
      search_lanes<true>(scratch, lane_weights, size, levels, lane_scales, lane_offsets);
    } else {
      search_lanes<false>(scratch, nullptr, size, levels, lane_scales, lane_offsets);
    }
    for (int64_t lane = 0; lane < some; ++lane) {
      scales[first + lane] = lane_scales[lane];
      offsets[first + lane] = lane_offsets[lane];
    }
  }
}

// Four vectors of sums at a time stay in registers during the pass over the rows.
void add_products(const float* factors, const float* rows, int64_t stride, int64_t num_rows,
                  int64_t count, float* sums) noexcept {
  int64_t j = 0;
  for (; j + 4 * kLanes <= count; j += 4 * kLanes) {
    F a = load(sums + j), b = load(sums + j + kLanes);
    F c = load(sums + j + 2 * kLanes), d = load(sums + j + 3 * kLanes);
    const float* from = rows + j;
    for (int64_t row = 0; row < num_rows; ++row, from += stride) {
      const F factor = set(factors[row]);
      a = fma(factor, load(from), a);
      b = fma(factor, load(from + kLanes), b);
      c = fma(factor, load(from + 2 * kLanes), c);
      d = fma(factor, load(from + 3 * kLanes), d);
    }
    store(sums + j, a);
    store(sums + j + kLanes, b);
    store(sums + j + 2 * kLanes, c);
    store(sums + j + 3 * kLanes, d);
  }
  for (; j + kLanes <= count; j += kLanes) {
    F a = load(sums + j);
    const float* from = rows + j;
    for (int64_t row = 0; row < num_rows; ++row, from += stride) {
      a = fma(set(factors[row]), load(from), a);
    }
    store(sums + j, a);
  }
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t k = j; k < count; ++k) {
      sums[k] = __builtin_fmaf(factors[row], rows[row * stride + k], sums[k]);
    }
  }
}

constexpr QuantizeKernels table(const char* name) {
  return {name, measure, encode, choose_scales, pack4, add_products};
}

}  // namespace
}  // namespace pippin::kernels
