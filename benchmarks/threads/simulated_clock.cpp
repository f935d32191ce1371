#include "benchmarks/threads/simulated_clock.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "pippin/base/error.h"

namespace pippin {

Schedule schedule(const SimulatedRun& run) {
  Schedule result;
  result.busy = run.own;
  using Free = std::pair<double, size_t>;  // the time at which a part is free
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (size_t i = 0; i < run.own.size(); ++i) free.emplace(run.own[i], i);
  for (const double piece : run.pieces) {
    const auto [at, part] = free.top();
    free.pop();
    result.busy[part] = at + piece;
    result.dealt += piece;
    free.emplace(at + piece, part);
  }
  result.total = std::accumulate(result.busy.begin(), result.busy.end(), 0.0);
  for (const double busy : result.busy) result.longest = std::max(result.longest, busy);
  return result;
}

void SimulatedClock::restart() {
  runs_.clear();
  start_ = last_ = Clock::now();
}

std::vector<SimulatedRun> SimulatedClock::take() {
  runs_.emplace_back().serial = lap();
  return std::exchange(runs_, {});
}

double SimulatedClock::lap() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  return seconds;
}

void SimulatedClock::finish_share() {
  const double seconds = lap();
  if (share_ != nullptr) *share_ += seconds;
}

void SimulatedClock::begin_run(int parts) {
  SimulatedRun& run = runs_.emplace_back();
  run.serial = lap();
  run.own.resize(static_cast<size_t>(parts));
  begin_ = last_;
}

void SimulatedClock::begin_part(int part) {
  finish_share();
  share_ = &runs_.back().own[static_cast<size_t>(part)];
}

void SimulatedClock::begin_piece() {
  finish_share();
  share_ = &runs_.back().pieces.emplace_back();
}

void SimulatedClock::end_run() {
  finish_share();
  share_ = nullptr;
  runs_.back().middle =
      std::chrono::duration<double>((begin_ - start_) + (last_ - begin_) / 2).count();
}

void keep_fastest(std::vector<SimulatedRun>& best, std::span<const SimulatedRun> again) {
  const auto keep = [](std::vector<double>& times, const std::vector<double>& others) {
    if (times.size() != others.size()) {
      fail(ErrorCode::Internal, "a repetition has {} shares in a run, not {}", others.size(),
           times.size());
    }
    for (size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], others[i]);
  };
  if (best.size() != again.size()) {
    fail(ErrorCode::Internal, "a repetition has {} runs, not {}", again.size(), best.size());
  }
  for (size_t i = 0; i < best.size(); ++i) {
    best[i].serial = std::min(best[i].serial, again[i].serial);
    keep(best[i].own, again[i].own);
    keep(best[i].pieces, again[i].pieces);
  }
}

}  // namespace pippin
