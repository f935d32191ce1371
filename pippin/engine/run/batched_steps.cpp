#include "pippin/engine/run/batched_steps.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {
namespace {

constexpr int64_t kFewRows = 32;     // of a sequence; steps with more do not join
constexpr int64_t kJointRows = 256;  // of one run if rows are copied

int64_t columns_upper(const View& view) {
  return view.shape.back().upper();
}

}  // namespace

BatchedSteps::BatchedSteps(const CpuPlan& plan, size_t lanes) : plan_(plan) {
  steps_.resize(plan.steps.size());
  int64_t staging = 0;
  size_t most_views = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = *plan.steps[i];
    JointStep& joint = steps_[i];
    joint.axis = step.row_axis();
    joint.joins = joint.axis >= 0;
    if (!joint.joins) continue;
    int64_t rows = 1, width = 0;
    for (const View& view : step.views) {
      const auto buffer = static_cast<size_t>(view.buffer);
      const bool constant = plan.node_plan.buffers[buffer].kind == Buffer::Kind::Constant;
      joint.has_rows.push_back(!constant);
      if (constant) continue;
      joint.in_arenas = joint.in_arenas && plan.node_plan.offsets[buffer] >= 0;
      joint.joins = joint.joins && view.rank() == joint.axis + 2 && view.storage == Storage::F32;
      if (!joint.joins) break;
      rows = std::max(rows, view.shape[static_cast<size_t>(joint.axis)].upper());
      width += columns_upper(view);
    }
    // The written operands, and the multiplied rows, which are the first operand that is read.
    joint.joins =
        joint.joins && rows <= kFewRows && step.num_written < step.views.size() &&
        std::all_of(joint.has_rows.begin(),
                    joint.has_rows.begin() + static_cast<std::ptrdiff_t>(step.num_written) + 1,
                    [](bool has) { return has; });
    if (!joint.joins) continue;
    most_views = std::max(most_views, step.views.size());
    const int64_t all = static_cast<int64_t>(lanes) * rows;
    scratch_ = std::max(scratch_, align_up<int64_t>(step.scratch_bytes_of(all), 64));
    staging = std::max(staging, std::min(all, std::max(kJointRows, rows)) * width);
  }
  staging_ = Memory(static_cast<uint64_t>(staging) * sizeof(float), "rows of several sequences");
  operands_.resize(most_views);
}

void BatchedSteps::run(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool,
                       std::byte* scratch, std::exception_ptr& error) noexcept {
  const auto first = lanes[0]->operands(step);
  std::copy(first.begin(), first.end(), operands_.begin());
  if (!line_up(step, lanes)) {
    gather(step, lanes, pool, scratch, error);
    return;
  }
  plan_.steps[step]->run(
      {{operands_.data(), first.size()}, {}, pool, scratch, &error, plan_.peers.get()});
}

// Sets operands_ to all rows in place; returns false if their layout does not allow it.
bool BatchedSteps::line_up(size_t step, std::span<const Lane* const> lanes) {
  const JointStep& joint = steps_[step];
  if (!joint.in_arenas) return false;
  for (size_t v = 0; v < joint.has_rows.size(); ++v) {
    if (!joint.has_rows[v]) continue;
    Operand& operand = operands_[v];
    const std::ptrdiff_t distance = lanes[1]->operands(step)[v].data - operand.data;
    if (distance % static_cast<std::ptrdiff_t>(sizeof(float)) != 0) return false;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Operand& other = lanes[i]->operands(step)[v];
      const bool in_line = other.data - operand.data == static_cast<std::ptrdiff_t>(i) * distance;
      if (other.shape[joint.axis] != 1 || !in_line) return false;
    }
    operand.shape[joint.axis] = static_cast<int64_t>(lanes.size());
    operand.strides[joint.axis] = distance / static_cast<std::ptrdiff_t>(sizeof(float));
  }
  return true;
}

void BatchedSteps::gather(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool,
                          std::byte* scratch, std::exception_ptr& error) {
  const JointStep& joint = steps_[step];
  const auto rows_of = [&](size_t lane) {
    return lanes[lane]->operands(step)[0].shape[joint.axis];
  };
  for (size_t begin = 0; begin < lanes.size();) {
    size_t end = begin;
    int64_t rows = 0;
    while (end < lanes.size() && (end == begin || rows + rows_of(end) <= kJointRows)) {
      rows += rows_of(end++);
    }
    const auto part = lanes.subspan(begin, end - begin);
    const auto first = part[0]->operands(step);
    std::copy(first.begin(), first.end(), operands_.begin());
    auto* place = reinterpret_cast<float*>(staging_.data());
    for (size_t v = 0; v < joint.has_rows.size(); ++v) {
      if (!joint.has_rows[v]) continue;
      Operand& operand = operands_[v];
      const int64_t columns = operand.shape[joint.axis + 1];
      operand.data = reinterpret_cast<std::byte*>(place);
      operand.shape[joint.axis] = rows;
      operand.strides[joint.axis] = columns;
      operand.strides[joint.axis + 1] = 1;
      place += rows * columns;
    }
    copy_rows(step, part, /*back=*/false, pool);
    const Step& what = *plan_.steps[step];
    what.run({{operands_.data(), first.size()}, {}, pool, scratch, &error, plan_.peers.get()});
    copy_rows(step, part, /*back=*/true, pool);
    begin = end;
  }
}

// Copies the operands that are read from the lanes to operands_, or the written ones back.
void BatchedSteps::copy_rows(size_t step, std::span<const Lane* const> lanes, bool back,
                             ThreadPool& pool) {
  const JointStep& joint = steps_[step];
  const size_t written = plan_.steps[step]->num_written;
  const auto copy = [&](size_t v, int64_t begin, int64_t end) {
    const Operand& all = operands_[v];
    const int64_t columns = all.shape[joint.axis + 1];
    int64_t row = 0;
    for (const Lane* lane : lanes) {
      const Operand& own = lane->operands(step)[v];
      for (int64_t i = 0; i < own.shape[joint.axis]; ++i, ++row) {
        if (row < begin || row >= end) continue;
        float* joined = all.floats() + row * columns;
        float* single = own.floats() + i * own.strides[joint.axis];
        const auto bytes = static_cast<size_t>(columns) * sizeof(float);
        if (back) std::memcpy(single, joined, bytes);
        if (!back) std::memcpy(joined, single, bytes);
      }
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 16;  // elements: some 20 us
  for (size_t v = 0; v < joint.has_rows.size(); ++v) {
    if (!joint.has_rows[v] || (v < written) != back) continue;
    const int64_t rows = operands_[v].shape[joint.axis];
    if (rows * operands_[v].shape[joint.axis + 1] < kWorthSharing) {
      copy(v, 0, rows);
      continue;
    }
    pool.run([&](int part, int parts) {
      const Range share = split_range(rows, part, parts);
      copy(v, share.begin, share.end);
    });
  }
}

}  // namespace pippin::engine
