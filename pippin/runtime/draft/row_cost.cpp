#include "pippin/runtime/draft/row_cost.h"

#include <algorithm>

namespace pippin::runtime {
namespace {

// The assumed cost of another row: a pass reads the weights once, and each row adds its products.
// It is below the cost measured for any model, so that every number of rows is tried.
constexpr double kAssumedPerRow = 0.18;
constexpr double kPart = 0.25;            // weight of a new measurement in an estimate
constexpr double kOutlier = 3;            // a time above this multiple is an outlier
constexpr double kForgotten = 1.0 / 128;  // weight that the other points lose per pass

double assumed(int64_t rows) {
  return 1 + kAssumedPerRow * static_cast<double>(rows - 1);
}

}  // namespace

void RowCost::measured(int64_t rows, double seconds) {
  if (rows < 1 || rows > kMost || seconds <= 0) return;
  const std::lock_guard lock(mutex_);
  if (rows == 1) {
    one_ = one_ == 0 ? seconds : one_ + kPart * (std::min(seconds, kOutlier * one_) - one_);
    return;
  }
  if (one_ == 0) return;
  for (Point& point : points_) point.weight *= 1 - kForgotten;
  Point& point = points_[static_cast<size_t>(rows)];
  const double now = factor(rows);
  const double found = std::min(seconds / one_ / assumed(rows), kOutlier * now);
  const bool is_first = point.weight < kPart;
  point.factor = is_first ? found : now + kPart * (found - now);
  point.weight = 1;
}

// A point that has not been measured for long counts less than its neighbours.
double RowCost::factor(int64_t rows) const {
  int64_t below = rows - 1, above = rows + 1;
  while (below > 1 && points_[static_cast<size_t>(below)].weight < kPart) --below;
  while (above <= kMost && points_[static_cast<size_t>(above)].weight < kPart) ++above;
  const auto value = [&](int64_t at) {
    return at <= 1 ? 1.0 : points_[static_cast<size_t>(at)].factor;
  };
  double between = value(below);
  if (above <= kMost) {
    const double share = static_cast<double>(rows - below) / static_cast<double>(above - below);
    between += share * (value(above) - between);
  }
  const Point& own = points_[static_cast<size_t>(rows)];
  return own.weight < kPart ? between : own.weight * own.factor + (1 - own.weight) * between;
}

double RowCost::ratio(int64_t rows) const {
  if (rows <= 1) return 1;
  const std::lock_guard lock(mutex_);
  return std::max(1.0, factor(std::min(rows, kMost)) * assumed(rows));
}

double RowCost::one() const {
  const std::lock_guard lock(mutex_);
  return one_;
}

AskingCost RowCost::asking() const {
  const std::lock_guard lock(mutex_);
  return asking_;
}

void RowCost::asked(const AskingCost& cost) {
  const std::lock_guard lock(mutex_);
  asking_ = cost;
}

}  // namespace pippin::runtime
