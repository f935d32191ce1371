#include "pippin/pipeline/cut.h"

#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/pipeline/places.h"

namespace pippin::pipeline {
namespace {

using engine::Buffer;
using engine::CpuPlan;
using engine::NodePlan;
using engine::View;

constexpr double kNearlyLeast = 1.25;  // of the bytes that pass

// Of the places from `first` on that fit and where little passes, the one nearest to a share of the
// weights' bytes; 0: none fits.
template <typename Fits>
size_t best_place(const Places& places, size_t first, double share, const Fits& fits) {
  const size_t end = places.live_bytes.size() - 1;
  double least = std::numeric_limits<double>::infinity();
  for (size_t place = first; place < end; ++place) {
    if (fits(place)) least = std::min(least, places.live_bytes[place]);
  }
  const auto distance = [&](size_t place) { return std::abs(places.share(place) - share); };
  size_t best = 0;
  for (size_t place = first; place < end; ++place) {
    if (!fits(place) || places.live_bytes[place] > kNearlyLeast * least) continue;
    if (best == 0 || distance(place) < distance(best)) best = place;
  }
  return best;
}

// The cuts between the stages: the first and the last are the ends of the plan.
std::vector<size_t> find_cuts(const CpuPlan& plan, const std::vector<Border>& borders) {
  const Places places(plan);
  std::vector<size_t> cuts = {0};
  for (const Border& border : borders) {
    const size_t best = best_place(places, cuts.back() + 1, border.share, [&](size_t place) {
      return places.state_writes[place] == border.state_writes;
    });
    if (best == 0) {
      fail(ErrorCode::Unsupported, "function {} has no place to cut it after {} writes of states",
           plan.node_plan.function, border.state_writes);
    }
    cuts.push_back(best);
  }
  cuts.push_back(plan.node_plan.nodes.size());
  return cuts;
}

// By input of the plan, whether the stage reads it. Each takes those that sizes depend on.
std::vector<bool> inputs_of(const NodePlan& plan, const Stage& stage) {
  std::set<int> touched;
  for (size_t n = stage.begin; n < stage.end; ++n) {
    for (const View& view : plan.nodes[n].views) touched.insert(view.buffer);
  }
  if (stage.sent.empty()) {
    for (const View& view : plan.output_views) touched.insert(view.buffer);
  }
  std::vector<bool> inputs(plan.inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    inputs[k] = touched.contains(plan.input_views[k].buffer);
  }
  for (const auto& value : plan.values) inputs[value.input] = true;
  return inputs;
}

View whole_buffer(const NodePlan& plan, int buffer) {
  const Buffer& of = plan.buffers[static_cast<size_t>(buffer)];
  View view;
  view.buffer = buffer;
  view.storage = of.storage;
  view.shape = {of.elements};
  view.strides = {1};
  return view;
}

engine::Port port_of(const NodePlan& plan, int buffer) {
  const engine::Storage storage = plan.buffers[static_cast<size_t>(buffer)].storage;
  return {fmt::format("value {}", buffer), mil::DataType::Float32, engine::is_float(storage)};
}

}  // namespace

std::vector<Border> choose_borders(const CpuPlan& plan, int count) {
  std::vector<Border> borders;
  const Places places(plan);
  const size_t end = plan.node_plan.nodes.size();
  const bool has_states = places.state_writes[end] > 0;
  // Before the first layer and after the last one little is alive as well.
  const auto is_inside = [&](size_t place) {
    const int64_t read = places.weight_bytes[place];
    const size_t written = places.state_writes[place];
    return read > 0 && read < places.weight_bytes[end] &&
           (!has_states || (written > 0 && written < places.state_writes[end]));
  };
  size_t after = 0;
  for (int border = 1; border < count; ++border) {
    // At least a layer more than at the border before.
    const auto fits = [&](size_t place) {
      if (!is_inside(place)) return false;
      return after == 0 ||
             (places.weight_bytes[place] > places.weight_bytes[after] &&
              (!has_states || places.state_writes[place] > places.state_writes[after]));
    };
    after = best_place(places, after + 1, static_cast<double>(border) / count, fits);
    if (after == 0) {
      fail(ErrorCode::Unsupported,
           "function {} can be cut at {} places, {} stages need {}: take fewer ranks",
           plan.node_plan.function, border - 1, count, count - 1);
    }
    borders.push_back({places.state_writes[after], places.share(after)});
  }
  return borders;
}

std::vector<Stage> cut(const CpuPlan& plan, Groups groups, const std::vector<Border>& borders) {
  const NodePlan& nodes = plan.node_plan;
  const std::vector<size_t> cuts = find_cuts(plan, borders);
  const Uses uses(nodes);
  std::vector<Stage> stages;
  stages.reserve(cuts.size() - 1);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    Stage& stage = stages.emplace_back();
    stage.group = groups.first + static_cast<int>(i);
    stage.begin = cuts[i];
    stage.end = cuts[i + 1];
    if (i > 0) stage.received = uses.alive(nodes, stage.begin);
    if (i + 2 < cuts.size()) stage.sent = uses.alive(nodes, stage.end);
    stage.inputs = inputs_of(nodes, stage);
  }
  return stages;
}

NodePlan stage_plan(const NodePlan& plan, const Stage& stage, bool is_last) {
  NodePlan part;
  part.function = plan.function;
  part.inputs = plan.inputs;
  part.states = plan.states;
  part.axes = plan.axes;
  part.values = plan.values;
  part.input_views = plan.input_views;
  part.constraints = plan.constraints;
  part.buffers = plan.buffers;
  part.offsets = plan.offsets;
  part.arena_size = plan.arena_size;
  part.nodes.assign(plan.nodes.begin() + static_cast<std::ptrdiff_t>(stage.begin),
                    plan.nodes.begin() + static_cast<std::ptrdiff_t>(stage.end));
  for (const int buffer : stage.received) {
    part.input_views.push_back(whole_buffer(plan, buffer));
    part.inputs.push_back(port_of(plan, buffer));
  }
  if (is_last) {
    part.outputs = plan.outputs;
    part.output_views = plan.output_views;
  }
  for (const int buffer : stage.sent) {
    part.output_views.push_back(whole_buffer(plan, buffer));
    part.outputs.push_back(port_of(plan, buffer));
  }
  return part;
}

}  // namespace pippin::pipeline
