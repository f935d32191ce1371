#include "pippin/engine/cpu/low_rank.h"

#include <algorithm>
#include <thread>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/pause.h"
#include "pippin/engine/weights/weight_type.h"

namespace pippin::engine {
namespace {

constexpr size_t kA = 0, kS = 1, kB = 2;  // the views of a change
constexpr int64_t kRowsOfPart = 64;
constexpr int64_t kLine = 64;
constexpr int64_t kRanksOfPart = 4;  // at least: those that the kernels multiply together

}  // namespace

void LowRankChanges::add(const CpuFeatures& cpu, const Place& place, const LowRank& change) {
  changes_.push_back({place, change.ranks, ranks_, &kernels::choose_dot(weight_type(change.a), cpu),
                      weight_type(change.b)});
  ranks_ += change.ranks;
}

int64_t LowRankChanges::weight_bytes(int64_t k) const {
  int64_t bytes = 0;
  for (const Change& change : changes_) {
    bytes += change.ranks * (k * kernels::bytes_per_weight(change.a->weight) +
                             change.place.n * kernels::bytes_per_weight(change.b));
  }
  return bytes;
}

int64_t LowRankChanges::scratch_bytes(int64_t rows) const {
  constexpr int64_t kFloat = sizeof(float), kRank = sizeof(int32_t), kCount = sizeof(int64_t);
  const int64_t counts = static_cast<int64_t>(changes_.size()) * kCount;
  return align_up<int64_t>(counts + ranks_ * (kRank + rows * kFloat), 64);
}

LowRankRun::LowRankRun(const LowRankChanges& changes, const StepContext& context, const Operand& x)
    : changes_(changes), context_(context), x_(x) {
  counts_ = reinterpret_cast<int64_t*>(context.scratch);
  active_ = reinterpret_cast<int32_t*>(counts_ + changes.changes_.size());
  t_ = reinterpret_cast<float*>(active_ + changes.ranks_);
  int64_t all = 0;
  for (size_t i = 0; i < changes.changes_.size(); ++i) {
    counts_[i] = find_active(changes.changes_[i]);
    all += counts_[i];
  }
  const int64_t share = ceil_div<int64_t>(all, 2 * context.pool.num_threads());
  chunk_ = align_up(std::max<int64_t>(1, share), kRanksOfPart);
  for (size_t i = 0; i < changes.changes_.size(); ++i) parts_ += ceil_div(counts_[i], chunk_);
  parts_ *= ceil_div(x.shape[0], kRowsOfPart);
}

int64_t LowRankRun::find_active(const Change& change) const {
  const Operand& s = operand(change, kS);
  int32_t* const active = active_of(change);
  std::fill_n(active, change.ranks, 0);
  const int64_t rows = s.strides[0] == 0 ? std::min<int64_t>(1, x_.shape[0]) : x_.shape[0];
  for (int64_t i = 0; i < rows; ++i) {
    const float* const numbers = s.floats() + i * s.strides[0];
    for (int64_t r = 0; r < change.ranks; ++r) active[r] |= numbers[r] != 0 ? 1 : 0;
  }
  int64_t count = 0;
  for (int64_t r = 0; r < change.ranks; ++r) {
    if (active[r] != 0) active[count++] = static_cast<int32_t>(r);
  }
  return count;
}

void LowRankRun::compute() noexcept {
  if (parts_ == 0) return;
  const int64_t parts_of_rows = parts_ / ceil_div(x_.shape[0], kRowsOfPart);
  for (int64_t part = begun_.fetch_add(1, std::memory_order_relaxed); part < parts_;
       part = begun_.fetch_add(1, std::memory_order_relaxed)) {
    const int64_t row = part / parts_of_rows * kRowsOfPart;
    int64_t left = part % parts_of_rows;
    size_t i = 0;
    while (left >= ceil_div(counts_[i], chunk_)) left -= ceil_div(counts_[i++], chunk_);
    compute(changes_.changes_[i], {row, std::min(x_.shape[0], row + kRowsOfPart)},
            {left * chunk_, std::min(counts_[i], (left + 1) * chunk_)});
    done_.fetch_add(1, std::memory_order_release);
  }
}

void LowRankRun::compute(const Change& change, Range rows, Range active) const noexcept {
  const Operand &a = operand(change, kA), &s = operand(change, kS);
  const int32_t* const ranks = active_of(change);
  float* const t = t_ + rows.begin * changes_.ranks_ + change.first;
  const kernels::DotArgs args = {x_.floats() + rows.begin * x_.strides[0],
                                 x_.strides[0],
                                 a.data,
                                 a.strides[0],
                                 nullptr,
                                 t,
                                 changes_.ranks_,
                                 rows.end - rows.begin,
                                 change.ranks,
                                 x_.shape[1]};
  for (int64_t i = active.begin; i < active.end;) {
    int64_t end = i + 1;  // ranks without a gap
    while (end < active.end && ranks[end] == ranks[end - 1] + 1) ++end;
    // A few rows that lie apart from all before: the hardware would be late with each.
    const int64_t bytes = a.strides[0] * kernels::bytes_per_weight(change.a->weight);
    for (int64_t at = ranks[i] * bytes; at < (ranks[end - 1] + 1) * bytes; at += kLine) {
      __builtin_prefetch(a.data + at);
    }
    change.a->function(
        kernels::dot_columns(args, change.a->weight, ranks[i], int64_t{ranks[end - 1]} + 1));
    i = end;
  }
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* const numbers = s.floats() + row * s.strides[0];
    float* const own = t + (row - rows.begin) * changes_.ranks_;
    for (int64_t i = active.begin; i < active.end; ++i) {
      const int32_t rank = ranks[i];
      own[rank] = numbers[rank] == 0 ? 0 : own[rank] * numbers[rank];  // infinity times 0, too
    }
  }
}

void LowRankRun::add(size_t product, const Operand& y, Range rows, Range columns) noexcept {
  const auto& all = changes_.changes_;
  const auto change = std::find_if(all.begin(), all.end(),
                                   [&](const Change& one) { return one.place.product == product; });
  if (change == all.end()) return;
  const int64_t count = counts_[change - all.begin()];
  if (count == 0) return;
  constexpr int kSpins = 4000;
  for (int looks = 0; done_.load(std::memory_order_acquire) < parts_; ++looks) {
    if (looks < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  kernels::add_low_rank(changes_.kernels_, change->b,
                        {t_ + rows.begin * changes_.ranks_ + change->first, changes_.ranks_,
                         operand(*change, kB).data, change->ranks, active_of(*change), count,
                         y.floats() + rows.begin * y.strides[0], y.strides[0],
                         rows.end - rows.begin, columns.begin, columns.end});
}

}  // namespace pippin::engine
