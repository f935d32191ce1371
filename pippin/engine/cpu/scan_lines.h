// Running totals along an axis: for steps, and for arrays of other types and operations than plans
// have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pippin/base/threads/thread_pool.h"

namespace pippin::engine {

// y [outer, size, inner] without gaps, of the totals along the middle axis; x has the same shape.
struct ScanArgs {
  int64_t outer, size, inner;
  int64_t x_strides[3];  // in elements
  bool exclusive = false, reverse = false;
};

// Replaces totals, which begin with `first`, by combine(total, element); y may be x.
template <typename Total, typename T, typename Combine>
void scan_lines(ThreadPool& pool, const ScanArgs& args, const T* x, T* y, Total first,
                const Combine& combine) {
  constexpr int64_t kBlock = 64;  // lines whose totals are computed together
  const int64_t blocks = (args.inner + kBlock - 1) / kBlock, jobs = args.outer * blocks;
  const auto single = [&](int64_t outer, int64_t line) {  // its total in a register
    const int64_t begin = args.reverse ? args.size - 1 : 0, sign = args.reverse ? -1 : 1;
    const int64_t x_step = sign * args.x_strides[1], y_step = sign * args.inner;
    const T* from =
        x + outer * args.x_strides[0] + begin * args.x_strides[1] + line * args.x_strides[2];
    T* to = y + (outer * args.size + begin) * args.inner + line;
    Total total = first;
    const bool exclusive = args.exclusive;
    for (int64_t step = args.size; step > 0; --step, from += x_step, to += y_step) {
      const Total before = total;
      total = combine(before, static_cast<Total>(*from));
      *to = static_cast<T>(exclusive ? before : total);
    }
  };
  const auto block = [&](int64_t outer, int64_t line) {
    const int64_t lines = std::min(kBlock, args.inner - line);
    if (lines == 1) return single(outer, line);
    Total totals[kBlock];
    std::fill_n(totals, lines, first);
    for (int64_t step = 0; step < args.size; ++step) {
      const int64_t i = args.reverse ? args.size - 1 - step : step;
      const T* from =
          x + outer * args.x_strides[0] + i * args.x_strides[1] + line * args.x_strides[2];
      T* to = y + (outer * args.size + i) * args.inner + line;
      for (int64_t j = 0; j < lines; ++j) {
        const Total before = totals[j];
        totals[j] = combine(before, static_cast<Total>(from[j * args.x_strides[2]]));
        to[j] = static_cast<T>(args.exclusive ? before : totals[j]);
      }
    }
  };
  const auto share = [&](Range range) {
    for (int64_t job = range.begin; job < range.end; ++job) {
      block(job / blocks, job % blocks * kBlock);
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 15;
  if (jobs > 1 && jobs * args.size * std::min(kBlock, args.inner) >= kWorthSharing) {
    pool.run([&](int part, int parts) { share(split_range(jobs, part, parts)); });
  } else {
    share(Range{0, jobs});
  }
}

}  // namespace pippin::engine
