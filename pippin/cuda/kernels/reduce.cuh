// Reductions of rows, in double precision.
#pragma once

#include "pippin/cuda/kernels/team.cuh"

namespace pippin::cuda {

DEVICE double row_element(const void* row, bool integers, int64_t i) {
  return integers ? static_cast<double>(static_cast<const int32_t*>(row)[i])
                  : double{static_cast<const float*>(row)[i]};
}
DEVICE const void* row_of(const void* x, int64_t element) {  // of 4 bytes
  return static_cast<const char*>(x) + 4 * element;
}

// term(x) of the row's elements, combined.
template <typename Term, typename Combine>
DEVICE double folded(const Team& team, const void* row, const ReduceArgs& a, double start, int slot,
                     const Term& term, const Combine& combine) {
  double v = start;
  for (int64_t i = team.index; i < a.rows.columns; i += team.size) {
    v = combine(v, term(row_element(row, a.integers, i)));
  }
  return team.combined(v, slot, combine);
}

DEVICE double reduced(const Team& team, const void* row, const ReduceArgs& a) {
  const auto plus = [](double p, double q) { return p + q; };
  const auto itself = [](double x) { return x; };
  const auto square = [](double x) { return x * x; };
  const auto larger = [](double p, double q) { return p != p ? p : q > p || q != q ? q : p; };
  const auto smaller = [](double p, double q) { return p != p ? p : q < p || q != q ? q : p; };
  const double infinity = double{bits_to_float(0x7f800000u)};
  switch (a.op) {
    case Reduction::Sum:
      return folded(team, row, a, 0, 0, itself, plus);
    case Reduction::Mean:
      return folded(team, row, a, 0, 0, itself, plus) / static_cast<double>(a.rows.columns);
    case Reduction::Max:
      return folded(team, row, a, -infinity, 0, itself, larger);
    case Reduction::Min:
      return folded(team, row, a, infinity, 0, itself, smaller);
    case Reduction::SumOfSquares:
      return folded(team, row, a, 0, 0, square, plus);
    case Reduction::LogSumExp: {
      const double most = folded(team, row, a, -infinity, 0, itself, larger);
      if (most == infinity || most == -infinity) return most;
      return most + log(folded(
                        team, row, a, 0, 1, [most](double x) { return exp(x - most); }, plus));
    }
    case Reduction::L1:
      return folded(
          team, row, a, 0, 0, [](double x) { return fabs(x); }, plus);
    case Reduction::L2:
      return sqrt(folded(team, row, a, 0, 0, square, plus));
    case Reduction::LogSum:
      return log(folded(team, row, a, 0, 0, itself, plus));
    case Reduction::Product:
      return folded(team, row, a, 1, 0, itself, [](double p, double q) { return p * q; });
  }
  return 0;
}

// As mil::round_to_type() of an integer type.
DEVICE int32_t wrapped_integer(double value, bool is_signed, int bits) {
  if (value != value) return 0;
  const double range = ldexp(1.0, bits), lowest = is_signed ? -range / 2 : 0.0;
  const double highest = lowest + range - 1, whole = trunc(value);
  double y = whole;
  if (whole < lowest || whole > highest) {
    if (fabs(whole) >= 4611686018427387904.0) {
      y = whole < 0 ? lowest : highest;
    } else {
      y = fmod(whole - lowest, range);
      y = (y < 0 ? y + range : y) + lowest;
    }
  }
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(y)));
}

DEVICE void reduce_body(const ReduceArgs& a) {
  SHARED(shared);
  const Team team(a.rows, shared);
  if (!team.has_row(a.rows)) return;
  const double value = reduced(team, row_of(a.x, team.row * a.rows.x_stride), a);
  if (team.index != 0) return;
  const int64_t at = team.row * a.rows.y_stride;
  if (a.integers) {
    static_cast<int32_t*>(a.y)[at] = wrapped_integer(value, a.is_signed, a.bits);
  } else {
    static_cast<float*>(a.y)[at] = static_cast<float>(value);
  }
}

struct Candidate {
  double value;
  int64_t place;
};
// The position of the largest (or smallest) element, the first of equals. A NaN at the front is the
// result; others are skipped.
DEVICE void arg_body(const ArgArgs& a) {
  SHARED(shared);
  const Team team(a.rows, shared);
  if (!team.has_row(a.rows)) return;
  const void* row = row_of(a.x, team.row * a.rows.x_stride);
  const double sign = a.smallest ? -1.0 : 1.0;
  const auto better = [](const Candidate& p, const Candidate& q) {
    return q.value > p.value || (q.value == p.value && q.place < p.place) ? q : p;
  };
  Candidate best = {-double{bits_to_float(0x7f800000u)}, int64_t{1} << 62};
  for (int64_t i = team.index; i < a.rows.columns; i += team.size) {
    best = better(best, {sign * row_element(row, a.integers, i), i});
  }
  for (int mask = 16; mask > 0; mask >>= 1) {
    best = better(best, {across_lanes(best.value, mask), across_lanes(best.place, mask)});
  }
  if (team.size > 32) {
    auto* values = reinterpret_cast<double*>(shared);
    auto* places = reinterpret_cast<int64_t*>(shared + 32 * sizeof(double));
    if (lane_index() == 0) {
      values[warp_index()] = best.value;
      places[warp_index()] = best.place;
    }
    barrier();
    for (int i = 0; i < team.size / 32; ++i) best = better(best, {values[i], places[i]});
  }
  if (team.index != 0) return;
  bool is_front = a.rows.columns == 0 || best.place >= a.rows.columns;
  if (!is_front) {
    const double front = row_element(row, a.integers, 0);
    is_front = front != front;
  }
  a.y[team.row * a.rows.y_stride] = is_front ? 0 : static_cast<int32_t>(best.place);
}

}  // namespace pippin::cuda
