// A range of items for all threads of a pool, for work that takes threads unlike times: memory and
// caches that others use too never serve two threads alike.
#pragma once

#include <atomic>
#include <cstdint>

#include "pippin/base/thread_pool.h"

namespace pippin {

// Every thread calls make_worker(part) once, and what that returns with ranges of [0, count) that
// begin at multiples of `grain`: first its even share of seven eighths, then pieces of the last
// eighth, of which there are `pieces`, for as long as there are any. Less than a piece for each
// thread, and all is shared evenly. Which thread does what differs from call to call: results must
// not depend on it.
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
      const Range one =
          split_range(dealt, static_cast<int>(piece), static_cast<int>(pieces), grain);
      if (one.begin < one.end) worker(Range{even + one.begin, even + one.end});
    }
  });
}

// Deals the items one handful after the other, in order, to whichever thread is free: one that is
// held up for long, by others on the same core, delays no more than its last handful. A handful
// should be worth it (some ten microseconds). Every thread calls make_worker(part) once, and what
// that returns with ranges.
template <typename MakeWorker>
void deal_items(ThreadPool& pool, int64_t count, int64_t handful, const MakeWorker& make_worker) {
  std::atomic<int64_t> next{0};
  pool.run([&](int part, int /*parts*/) {
    const auto worker = make_worker(part);
    for (int64_t at = next.fetch_add(handful); at < count; at = next.fetch_add(handful)) {
      worker(Range{at, at + handful < count ? at + handful : count});
    }
  });
}

}  // namespace pippin
