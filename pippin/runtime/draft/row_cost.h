// What a pass over the weights takes for one token of a sequence and for several: a running
// estimate from the passes themselves.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace pippin::runtime {

// What is known of asking for drafts that take time.
struct AskingCost {
  double seconds = 0;  // of a draft; 0: not known
  double gain = 1.5;   // of asking, with that time: passes of one row for as many tokens. First of
                       // all it is hoped for
  int64_t probe_distance = 1;  // passes between two tries where it does not pay
};

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

  // Of the sources that take time, for the next text.
  AskingCost asking() const;
  void asked(const AskingCost& cost);

 private:
  struct Point {
    double factor = 1;  // of what is assumed
    double weight = 0;  // 0: nothing was measured
  };
  double factor(int64_t rows) const;

  mutable std::mutex mutex_;
  double one_ = 0;
  AskingCost asking_;
  std::array<Point, kMost + 1> points_;  // by rows
};

}  // namespace pippin::runtime
