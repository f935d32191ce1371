// What a pass over the weights takes for one token of a sequence and for several: a running
// estimate from the passes themselves.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace pippin::runtime {

// Used by any thread.
class RowCost {
 public:
  static constexpr int64_t kMost = 32;  // rows

  void measured(int64_t rows, double seconds);
  // Of a pass of `rows` relative to one of a single row: what was measured, or what lies between
  // what was measured of fewer and of more rows.
  double ratio(int64_t rows) const;
  // Seconds of a single row; 0: not known yet.
  double one() const;

 private:
  struct Point {
    double factor = 1;  // of what is assumed
    double weight = 0;  // 0: nothing was measured
  };
  double factor(int64_t rows) const;

  mutable std::mutex mutex_;
  double one_ = 0;
  std::array<Point, kMost + 1> points_;  // by rows
};

}  // namespace pippin::runtime
