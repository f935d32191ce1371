// Divides a range of items among the threads of a pool, for work whose duration varies between
// threads, because others use the memory and caches, too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "pippin/base/threads/thread_pool.h"

namespace pippin {

// Every thread calls make_worker(part) once, and calls the result with ranges of [0, count) that
// begin at multiples of `grain`: first its even share of seven eighths, then pieces of the last
// eighth, which is divided into `pieces`, until none is left. If there are fewer pieces than
// threads, everything is shared evenly. The assignment of ranges to threads differs from call to
// call; results must not depend on it.
template <typename MakeWorker>
void deal_range(ThreadPool& pool, int64_t count, int64_t grain, int64_t pieces,
                const MakeWorker& make_worker) {
  const int64_t even =
      pieces < pool.num_threads() ? count : (count - count / 8 + grain - 1) / grain * grain;
  const int64_t dealt = even < count ? count - even : 0;
  std::atomic<int64_t> next{dealt > 0 ? 0 : pieces};
  pool.run([&](int part, int parts) {
    const auto worker = make_worker(part);
    const Range share = split_range(count - dealt, part, parts, grain);
    if (share.begin < share.end) worker(share);
    for (int64_t piece = next++; piece < pieces; piece = next++) {
      pool.begin_piece();
      const Range one =
          split_range(dealt, static_cast<int>(piece), static_cast<int>(pieces), grain);
      if (one.begin < one.end) worker(Range{even + one.begin, even + one.end});
    }
  });
}

// Assigns items, in order, to free threads: a thread slowed down by others on its core gets fewer.
// A range is half of an even share of the remaining items, because neighbouring items share memory,
// but at least `handful` items, which should take some ten microseconds. Every thread calls
// make_worker(part) once, and calls the result with ranges that begin at multiples of `handful`.
// (Polychronopoulos and Kuck, "Guided self-scheduling", 1987.)
template <typename MakeWorker>
void deal_items(ThreadPool& pool, int64_t count, int64_t handful, const MakeWorker& make_worker) {
  std::atomic<int64_t> next{0};
  pool.run([&](int part, int parts) {
    const auto worker = make_worker(part);
    int64_t at = next;
    while (at < count) {
      const int64_t handfuls = (count - at) / (2 * parts) / handful;
      const int64_t size = std::max<int64_t>(1, handfuls) * handful;
      if (!next.compare_exchange_weak(at, at + size)) continue;
      pool.begin_piece();
      worker(Range{at, std::min(count, at + size)});
      at = next;
    }
  });
}

}  // namespace pippin
