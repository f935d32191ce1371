// The time of a pass over the weights by number of rows: a running estimate from the passes
// themselves.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace pippin::runtime {

// The measured cost of sources whose drafts take time.
struct AskingCost {
  double seconds = 0;  // per draft; 0: unknown
  double gain = 1.5;   // of asking, including its time: tokens per time of a one-row pass; starts
                       // optimistic
  int64_t probe_distance = 1;  // passes between two tries where it does not pay
};

// May be used by any thread.
class RowCost {
 public:
  static constexpr int64_t kMost = 32;  // rows

  void measured(int64_t rows, double seconds);
  // The time of a pass of `rows` relative to a single row: measured, or interpolated between fewer
  // and more rows.
  double ratio(int64_t rows) const;
  // Seconds of a single row; 0: not yet known.
  double one() const;

  // The cost of sources that take time, as a start for the next text.
  AskingCost asking() const;
  void asked(const AskingCost& cost);

 private:
  struct Point {
    double factor = 1;  // relative to the assumed cost
    double weight = 0;  // 0: not measured
  };
  double factor(int64_t rows) const;

  mutable std::mutex mutex_;
  double one_ = 0;
  AskingCost asking_;
  std::array<Point, kMost + 1> points_;  // indexed by rows
};

}  // namespace pippin::runtime
