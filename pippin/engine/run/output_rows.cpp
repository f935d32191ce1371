#include "pippin/engine/run/output_rows.h"

#include <algorithm>
#include <map>

namespace pippin::engine {
namespace {

constexpr size_t kReadToo = static_cast<size_t>(-1);

// The output in each buffer of the arena that has exactly one.
std::map<int, size_t> outputs_by_buffer(const NodePlan& plan) {
  std::map<int, size_t> outputs;
  for (size_t i = 0; i < plan.output_views.size(); ++i) {
    const int buffer = plan.output_views[i].buffer;
    if (plan.buffers[static_cast<size_t>(buffer)].kind != Buffer::Kind::Arena) continue;
    const auto [place, fresh] = outputs.try_emplace(buffer, i);
    if (!fresh) place->second = kReadToo;
  }
  return outputs;
}

// Whether the rows of `made` are those of an output: [.., 1, rows, columns].
bool are_rows_of(const Operand& made, const Operand& output) {
  const int rows = output.rank - 2;
  if (made.rank != 2 || rows < 0 || made.data != output.data) return false;
  if (std::any_of(output.shape, output.shape + rows, [](int64_t size) { return size != 1; })) {
    return false;
  }
  return made.shape[0] == output.shape[rows] && made.shape[1] == output.shape[rows + 1] &&
         made.strides[0] == output.strides[rows] && made.strides[1] == output.strides[rows + 1];
}

}  // namespace

OutputRows::OutputRows(const CpuPlan& plan) : steps_(plan.steps.size()) {
  std::map<int, size_t> outputs = outputs_by_buffer(plan.node_plan);
  std::map<int, size_t> touched;  // number of views of steps
  for (const auto& step : plan.steps) {
    for (const View& view : step->views) ++touched[view.buffer];
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = *plan.steps[i];
    if (step.row_axis() != 0) continue;
    OutputStep found;
    bool fits = true;
    for (size_t v = 0; v < step.views.size(); ++v) {
      const View& view = step.views[v];
      const auto kind = plan.node_plan.buffer(view).kind;
      found.has_rows.push_back(kind != Buffer::Kind::Constant);
      if (found.has_rows.back()) fits = fits && view.rank() == 2 && view.storage == Storage::F32;
      if (v >= step.num_written) continue;
      const auto output = outputs.find(view.buffer);
      fits = fits && output != outputs.end() && output->second != kReadToo &&
             touched[view.buffer] == 1;
      if (fits) found.outputs.push_back(output->second);
    }
    if (!fits) continue;
    operands_.resize(std::max(operands_.size(), step.views.size()));
    steps_[i] = std::move(found);
  }
}

std::optional<std::span<const Operand>> OutputRows::only(size_t step, const Lane& lane,
                                                         WantedRows rows) {
  const OutputStep& which = steps_[step];
  const auto all = lane.operands(step);
  for (size_t i = 0; i < which.outputs.size(); ++i) {
    if (!are_rows_of(all[i], lane.output(which.outputs[i]))) return std::nullopt;
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > all[i].shape[0]) return std::nullopt;
  }
  std::copy(all.begin(), all.end(), operands_.begin());
  for (size_t v = 0; v < all.size(); ++v) {
    if (!which.has_rows[v]) continue;
    Operand& operand = operands_[v];
    operand.data += rows.begin * operand.strides[0] * element_size(operand.storage);
    operand.shape[0] = rows.end - rows.begin;
  }
  return std::span<const Operand>(operands_).first(all.size());
}

}  // namespace pippin::engine
