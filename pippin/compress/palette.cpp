#include "pippin/compress/palette.h"

#include <algorithm>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {
namespace {

// The squared error of an interval is its sum of squares minus gain = sum^2 / weight. The sum of
// squares does not depend on the intervals, so the sum of gains is maximized.
class Partition {
 public:
  Partition(const Distribution& distribution, size_t entries)
      : count_(distribution.values.size()),
        weights_(count_ + 1),
        sums_(count_ + 1),
        previous_(count_ + 1),
        current_(count_ + 1),
        starts_(entries, std::vector<uint16_t>()) {
    double weight = 0, sum = 0;
    for (size_t i = 0; i < count_; ++i) {
      weight += double{distribution.weights[i]};
      sum += double{distribution.values[i]} * double{distribution.weights[i]};
    }
    mean_ = sum / weight;  // centering keeps the digits of sums
    for (size_t i = 0; i < count_; ++i) {
      const double w = double{distribution.weights[i]};
      weights_[i + 1] = weights_[i] + w;
      sums_[i + 1] = sums_[i] + w * (double{distribution.values[i]} - mean_);
    }
  }

  std::vector<double> solve() {
    for (size_t end = 1; end <= count_; ++end) current_[end] = gain(0, end);
    for (size_t row = 1; row < starts_.size(); ++row) {
      previous_.swap(current_);
      starts_[row].assign(count_ + 1, 0);
      const bool last = row + 1 == starts_.size();
      const auto least = static_cast<ptrdiff_t>(last ? count_ : row + 1);
      fill(row, least, static_cast<ptrdiff_t>(count_), row, count_ - 1);
    }
    std::vector<double> means;
    for (size_t row = starts_.size(), end = count_; row-- > 0;) {
      const size_t start = row == 0 ? 0 : starts_[row][end];
      means.push_back(mean_ + (sums_[end] - sums_[start]) / (weights_[end] - weights_[start]));
      end = start;
    }
    std::reverse(means.begin(), means.end());
    return means;
  }

 private:
  double gain(size_t start, size_t end) const {
    const double sum = sums_[end] - sums_[start];
    return sum * sum / (weights_[end] - weights_[start]);
  }

  // The best starts of interval `row` for ends in [first, last]; the starts are in [low, high].
  void fill(size_t row, ptrdiff_t first, ptrdiff_t last, size_t low, size_t high) {
    if (first > last) return;
    const auto end = static_cast<size_t>(first + (last - first) / 2);
    size_t begin = low;
    // With one more interval, the last one does not start earlier.
    if (row > 1) begin = std::max<size_t>(begin, starts_[row - 1][end]);
    const size_t stop = std::min(high, end - 1);
    begin = std::min(begin, stop);
    size_t best = begin;
    double best_gain = previous_[begin] + gain(begin, end);
    for (size_t start = begin + 1; start <= stop; ++start) {
      const double total = previous_[start] + gain(start, end);
      if (total > best_gain) {
        best_gain = total;
        best = start;
      }
    }
    current_[end] = best_gain;
    starts_[row][end] = static_cast<uint16_t>(best);
    const auto middle = static_cast<ptrdiff_t>(end);
    fill(row, first, middle - 1, low, best);
    fill(row, middle + 1, last, best, high);
  }

  size_t count_;
  double mean_ = 0;
  std::vector<double> weights_, sums_;         // of the values before each one
  std::vector<double> previous_, current_;     // best gain of the values before each end
  std::vector<std::vector<uint16_t>> starts_;  // per row and end
};

}  // namespace

std::vector<double> optimal_palette(const Distribution& distribution, size_t entries) {
  if (distribution.values.size() <= entries) {
    return {distribution.values.begin(), distribution.values.end()};
  }
  return Partition(distribution, entries).solve();
}

std::vector<float> stored_palette(const std::vector<double>& palette, size_t entries,
                                  mil::DataType type) {
  std::vector<float> result;
  for (const double value : palette) {
    const auto single = static_cast<float>(value);
    result.push_back(type == mil::DataType::Float16 ? to_float(to_float16(single)) : single);
  }
  result.resize(entries, result.empty() ? 0.0f : result.back());
  return result;
}

NearestEntry::NearestEntry(std::span<const float> palette) {
  for (size_t i = 1; i < palette.size(); ++i) {
    ends_.push_back(static_cast<float>((double{palette[i - 1]} + double{palette[i]}) / 2));
  }
}

uint8_t NearestEntry::operator()(float value) const {
  return static_cast<uint8_t>(std::lower_bound(ends_.begin(), ends_.end(), value) - ends_.begin());
}

}  // namespace pippin::compress
