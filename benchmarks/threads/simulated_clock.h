// The time that runs of a pool would take with threads that this machine does not have: the parts
// run one after another, each is timed, and a schedule of them is computed.
//
// It does not know the bandwidth and the caches that threads share, and the clock rate of a
// processor with all cores busy.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "pippin/base/threads/thread_pool.h"

namespace pippin {

// A call of ThreadPool::run(). Times are in seconds.
struct SimulatedRun {
  double serial = 0;           // the caller's own time since the call before
  double middle = 0;           // when half of the call had passed, since restart()
  std::vector<double> own;     // of each part, until its first piece
  std::vector<double> pieces;  // in the order in which free threads take them
};

// The threads of a run: each does its own share, and whichever is free first takes the next piece.
struct Schedule {
  std::vector<double> busy;  // by part
  double longest = 0, total = 0;
  double dealt = 0;  // the part of `total` that pieces have
};
Schedule schedule(const SimulatedRun& run);

// Records the runs of a pool.
class SimulatedClock final : public PoolObserver {
 public:
  using Clock = std::chrono::steady_clock;

  void restart();
  // Returns the runs since restart(), and in the last one, which has no parts, the serial time
  // after them.
  std::vector<SimulatedRun> take();

  void begin_run(int parts) override;
  void begin_part(int part) override;
  void begin_piece() override;
  void end_run() override;

 private:
  double lap();         // the time since the last lap
  void finish_share();  // of own work or a piece

  std::vector<SimulatedRun> runs_;
  Clock::time_point start_, last_, begin_;
  double* share_ = nullptr;  // that takes the running time
};

// Lowers the times of `best` to those of `again`, a repetition, so that they contain no
// interruptions by others. Throws Error(Internal) if the repetition has other runs or parts.
void keep_fastest(std::vector<SimulatedRun>& best, std::span<const SimulatedRun> again);

}  // namespace pippin
