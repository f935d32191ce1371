#include "pippin/engine/run/output_rows.h"

#include <algorithm>

namespace pippin::engine {
namespace {

using mil::Dim;

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

// The axis of rows of [.., 1, rows, columns].
size_t row_axis_of(const View& view) {
  return view.shape.size() - 2;
}
int64_t rows_of(const Operand& operand) {
  return operand.shape[operand.rank - 2];
}

bool has_rows(const View& view) {
  return view.storage == Storage::F32 && view.shape.size() >= 2 &&
         std::all_of(view.shape.begin(), view.shape.end() - 2,
                     [](const Dim& size) { return size == Dim(1); });
}

// Whether both are the same rows of one buffer, with any number of leading ones.
bool are_same_rows(const View& a, const View& b) {
  const size_t i = row_axis_of(a), j = row_axis_of(b);
  return a.buffer == b.buffer && a.offset == b.offset && a.shape[i] == b.shape[j] &&
         a.shape[i + 1] == b.shape[j + 1] && a.strides[i] == b.strides[j] &&
         a.strides[i + 1] == b.strides[j + 1];
}

// Whether the rows of `made` are those of an output: [.., 1, rows, columns].
bool are_rows_of(const Operand& made, const Operand& output) {
  const int rows = output.rank - 2, own = made.rank - 2;
  if (rows < 0 || made.data != output.data) return false;
  if (std::any_of(output.shape, output.shape + rows, [](int64_t size) { return size != 1; })) {
    return false;
  }
  return made.shape[own] == output.shape[rows] && made.shape[own + 1] == output.shape[rows + 1] &&
         made.strides[own] == output.strides[rows] &&
         made.strides[own + 1] == output.strides[rows + 1];
}

}  // namespace

std::vector<OutputRows::Written> OutputRows::made_of(const NodePlan& plan, const Uses& uses,
                                                     size_t step, size_t operand,
                                                     const View& view) {
  const size_t touched = uses.touched.at(view.buffer);
  if (const auto output = uses.outputs.find(view.buffer); output != uses.outputs.end()) {
    if (output->second == kReadToo || touched != 1) return {};
    return {{step, operand, output->second}};
  }
  const auto reads = uses.reads.find(view.buffer);
  if (reads == uses.reads.end() || plan.buffer(view).kind != Buffer::Kind::Arena ||
      touched != reads->second.views + 1 || !are_same_rows(view, *reads->second.view)) {
    return {};
  }
  return reads->second.made;
}

std::optional<OutputRows::OutputStep> OutputRows::find(const NodePlan& plan, const Facts& facts,
                                                       size_t index, const Uses& uses) {
  const Node& step = plan.nodes[index];
  const bool elementwise = facts.is_elementwise;
  if (!elementwise && facts.row_axis != 0) return std::nullopt;
  OutputStep found;
  for (size_t v = 0; v < step.views.size(); ++v) {
    const View& view = step.views[v];
    const bool rows = elementwise || plan.buffer(view).kind != Buffer::Kind::Constant;
    found.has_rows.push_back(rows);
    if (rows && (!engine::has_rows(view) || (!elementwise && view.rank() != 2))) {
      return std::nullopt;
    }
    if (v >= step.num_written) continue;
    const auto made = made_of(plan, uses, index, v, view);
    if (made.empty()) return std::nullopt;
    found.made.insert(found.made.end(), made.begin(), made.end());
  }
  return found;
}

OutputRows::OutputRows(const NodePlan& plan, const std::vector<Facts>& facts)
    : steps_(plan.nodes.size()) {
  Uses uses;
  uses.outputs = outputs_by_buffer(plan);
  for (const Node& step : plan.nodes) {
    for (const View& view : step.views) ++uses.touched[view.buffer];
  }
  for (size_t i = steps_.size(); i-- > 0;) {  // readers before the step that writes
    auto found = find(plan, facts[i], i, uses);
    if (!found) continue;
    const Node& step = plan.nodes[i];
    operands_.resize(std::max(operands_.size(), step.views.size()));
    for (size_t v = step.num_written; v < step.views.size(); ++v) {
      const View& view = step.views[v];
      Reads& reads = uses.reads[view.buffer];
      if (!found->has_rows[v] || (reads.view != nullptr && !are_same_rows(view, *reads.view))) {
        continue;
      }
      reads.view = &view;
      ++reads.views;
      reads.made.insert(reads.made.end(), found->made.begin(), found->made.end());
    }
    steps_[i] = std::move(*found);
  }
}

std::optional<std::span<const Operand>> OutputRows::only(size_t step, const Lane& lane,
                                                         WantedRows rows) {
  const OutputStep& which = steps_[step];
  for (const Written& written : which.made) {
    const Operand& made = lane.operands(written.step)[written.operand];
    if (!are_rows_of(made, lane.output(written.output))) return std::nullopt;
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > rows_of(made)) return std::nullopt;
  }
  const auto all = lane.operands(step);
  std::copy(all.begin(), all.end(), operands_.begin());
  for (size_t v = 0; v < all.size(); ++v) {
    if (!which.has_rows[v]) continue;
    Operand& operand = operands_[v];
    const int axis = operand.rank - 2;
    operand.data += rows.begin * operand.strides[axis] * element_size(operand.storage);
    operand.shape[axis] = rows.end - rows.begin;
  }
  return std::span<const Operand>(operands_).first(all.size());
}

}  // namespace pippin::engine
