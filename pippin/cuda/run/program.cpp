#include "pippin/cuda/run/program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cuda/run/queue_launch.h"

namespace pippin::cuda {
namespace {

constexpr size_t kArgumentAlignment = 64;
// A capture costs as much as some direct runs: after these, only where graphs are used again.
constexpr uint64_t kFreeCaptures = 4, kRunsOfCapture = 4;

}  // namespace

Program::Program(const CudaPlan& plan, std::vector<Seat*> seats, JointMemory joint,
                 std::vector<bool>& varies)
    : plan_(plan),
      num_masks_(plan.inputs().size()),
      seats_(std::move(seats)),
      joint_memory_(joint),
      varies_(varies),
      versions_(num_items() * seats_.size()),
      joints_(plan.nodes().nodes.size()) {
  if (varies_.empty()) {
    // Sequences take turns: states are at other addresses then.
    for (size_t item = 0; item < num_items(); ++item) {
      varies_.push_back(item >= num_masks_ && plan.has_state(item - num_masks_));
    }
  }
}

bool Program::item_moves(size_t item) const {
  return item < num_masks_ || plan_.moves(item - num_masks_) ||
         plan_.output_rows().may_skip(item - num_masks_);
}

const NodeLaunches& Program::launches_of(size_t item, size_t index) {
  Seat& seat = *seats_[index];
  if (item < num_masks_) return seat.masks[item];
  const size_t node = item - num_masks_;
  if (joints_[node].is_joint) return joints_[node].launches;
  return seat.launches.of(node, seat.scratch, seat.failed + node);
}

void Program::prepare(Timeline& timeline) {
  bool grids = !is_built_, arguments = false;
  for (size_t item = 0; item < num_items(); ++item) {
    if (!is_built_ || item_moves(item)) look(item, grids, arguments);
  }
  if (!grids && !arguments) return;
  if (grids) runs_ = 0;
  build(timeline);
}

// Compares an item's launches with those of the last run.
void Program::look(size_t item, bool& grids, bool& arguments) {
  const bool is_joint = item >= num_masks_ && update_joint(item - num_masks_);
  for (size_t seat = 0; seat < (is_joint ? 1 : seats_.size()); ++seat) {
    const NodeLaunches& launches = launches_of(item, seat);
    const Versions now{launches.grids, launches.arguments, is_joint};
    Versions& before = versions_[item * seats_.size() + seat];
    if (now.grids != before.grids || now.is_joint != before.is_joint) {
      grids = true;
    } else if (now.arguments != before.arguments && !in_table_[item]) {
      varies_[item] = true;
      arguments = true;
    }
    before = now;
  }
}

// Looks at a node's operands; whether it takes the rows of all seats at once.
bool Program::update_joint(size_t node) {
  JointNode& joint = joints_[node];
  bool is_same = joint.looked.size() == seats_.size();
  joint.looked.resize(seats_.size());
  for (size_t i = 0; i < seats_.size(); ++i) {
    const uint64_t version = seats_[i]->look(node);
    is_same = is_same && joint.looked[i] == version;
    joint.looked[i] = version;
  }
  if (is_same) return joint.is_joint;
  joint.is_joint = line_up(node);
  if (!joint.is_joint) return false;
  made_.clear();
  plan_.launchers()[node]->add({joint.operands, seats_[0]->lane.scalars(node),
                                joint_memory_.scratch, joint_memory_.failed + node},
                               made_);
  joint.launches.replace(made_);
  return true;
}

// Sets the joint operands to all seats' rows in place; returns false if their layout does not allow
// it.
bool Program::line_up(size_t node) {
  const CudaPlan::Joint& facts = plan_.joint(node);
  if (!facts.joins || seats_.size() < 2) return false;
  const auto first = seats_[0]->lane.operands(node), second = seats_[1]->lane.operands(node);
  auto& operands = joints_[node].operands;
  operands.assign(first.begin(), first.end());
  for (size_t v = 0; v < operands.size(); ++v) {
    if (!facts.has_rows[v]) continue;
    const std::ptrdiff_t distance = second[v].data - first[v].data;
    if (distance % static_cast<std::ptrdiff_t>(sizeof(float)) != 0) return false;
    for (size_t i = 0; i < seats_.size(); ++i) {
      const engine::Operand& other = seats_[i]->lane.operands(node)[v];
      const bool is_in_line =
          other.data - first[v].data == static_cast<std::ptrdiff_t>(i) * distance;
      if (other.shape[facts.axis] != 1 || !is_in_line) return false;
    }
    operands[v].shape[facts.axis] = static_cast<int64_t>(seats_.size());
    operands[v].strides[facts.axis] = distance / static_cast<std::ptrdiff_t>(sizeof(float));
  }
  return true;
}

void Program::build(Timeline& timeline) {
  if (graph_) timeline.synchronize();  // it may be running
  graph_.reset();
  is_built_ = false;
  steps_.clear();
  step_seats_.clear();
  const bool has_table = plan_.resources().run.graphs || seats_.size() > 1;
  in_table_ = has_table ? varies_ : std::vector<bool>(num_items());
  for (size_t item = 0; item < num_items(); ++item) add_steps(item);
  place_arguments(timeline);
  is_built_ = true;
}

void Program::add_steps(size_t item) {
  const size_t count = launches_of(item, 0).launches.size();
  const size_t seats = seats_.size();
  if (item >= num_masks_ && joints_[item - num_masks_].is_joint) {
    for (size_t i = 0; i < count; ++i) add_step(item, i, std::array<size_t, 1>{0}, true);
    return;
  }
  bool is_even = true;
  for (size_t seat = 0; seat < seats; ++seat) {
    is_even = is_even && launches_of(item, seat).launches.size() == count;
  }
  if (!is_even) {
    for (size_t seat = 0; seat < seats; ++seat) {
      for (size_t i = 0; i < launches_of(item, seat).launches.size(); ++i) {
        add_step(item, i, std::array<size_t, 1>{seat}, false);
      }
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    std::vector<size_t> left(seats), group, others;
    std::iota(left.begin(), left.end(), size_t{0});
    while (!left.empty()) {
      group.clear();
      others.clear();
      const Launch& first = launches_of(item, left[0]).launches[i];
      for (const size_t seat : left) {
        const bool is_alike = first.same_grid(launches_of(item, seat).launches[i]);
        (is_alike ? group : others).push_back(seat);
      }
      add_step(item, i, group, false);
      left.swap(others);
    }
  }
}

void Program::add_step(size_t item, size_t launch, std::span<const size_t> seats, bool is_joint) {
  steps_.push_back({item, launch, step_seats_.size(), seats.size(), is_joint});
  step_seats_.insert(step_seats_.end(), seats.begin(), seats.end());
}

const Launch& Program::launch_of(const Step& step, size_t index) const {
  if (step.is_joint) return joints_[step.item - num_masks_].launches.launches[step.launch];
  Seat& seat = *seats_[step_seats_[step.first_seat + index]];
  if (step.item < num_masks_) return seat.masks[step.item].launches[step.launch];
  const size_t node = step.item - num_masks_;
  return seat.launches.of(node, seat.scratch, seat.failed + node).launches[step.launch];
}

void Program::place_arguments(Timeline& timeline) {
  size_t size = 0;
  for (const bool varying : {true, false}) {
    for (Step& step : steps_) {
      const bool is_in_table = step.num_seats > 1 || in_table_[step.item];
      if (!is_in_table || in_table_[step.item] != varying) continue;
      step.place = size;
      const size_t bytes = argument_bytes(launch_of(step, 0).kernel) * step.num_seats;
      size = align_up(size + bytes, kArgumentAlignment);
    }
    if (varying) varying_bytes_ = size;
  }
  table_bytes_ = size;
  is_sent_ = varying_bytes_ == table_bytes_;
  if (table_.size() < size) {
    timeline.synchronize();  // nothing uses the smaller ones
    const auto& gpu = plan_.resources().gpu;
    table_ = PinnedMemory(gpu, size, "arguments of kernels");
    device_table_ = DeviceMemory(gpu, size, "arguments of kernels");
  }
  for (Step& step : steps_) {
    step.function =
        plan_.resources().kernels.find(launch_of(step, 0).kernel, step.place != kNoPlace);
  }
}

void Program::write_table(const Step& step) {
  for (size_t i = 0; i < step.num_seats; ++i) {
    const Launch& launch = launch_of(step, i);
    const size_t bytes = argument_bytes(launch.kernel);
    std::memcpy(table_.data() + step.place + i * bytes, launch.arguments.data(), bytes);
  }
}

void Program::run(Timeline& timeline, const std::vector<InputCopy>& copies, Mark& sent,
                  bool may_stop) {
  for (const Step& step : steps_) {
    if (step.place != kNoPlace && (!is_sent_ || in_table_[step.item])) write_table(step);
  }
  if (copies != copies_) {
    if (graph_) timeline.synchronize();
    graph_.reset();
    copies_ = copies;
    runs_ = 0;
  }
  const bool may_capture = captures_ < kFreeCaptures || graph_runs_ >= kRunsOfCapture * captures_;
  if (!graph_ && plan_.resources().run.graphs && runs_ > 0 && may_capture) {
    if (!is_sent_) send_table(timeline, table_bytes_);
    is_sent_ = true;
    ++captures_;
    graph_.emplace(CapturedGraph::capture(
        timeline, [&] { queue(timeline, copies, nullptr, /*may_stop=*/false); }));
  }
  ++runs_;
  if (!graph_) return queue(timeline, copies, &sent, may_stop);
  graph_->launch(timeline);
  ++graph_runs_;
  sent.set(timeline);
}

void Program::send_table(Timeline& timeline, size_t size) {
  if (size > 0) timeline.to_device(device_table_.address(), table_.data(), size);
}

void Program::queue(Timeline& timeline, const std::vector<InputCopy>& copies, Mark* sent,
                    bool may_stop) {
  for (const InputCopy& copy : copies) timeline.to_device(copy.to, copy.from, copy.size);
  send_table(timeline, is_sent_ ? varying_bytes_ : table_bytes_);
  is_sent_ = true;
  if (sent != nullptr) sent->set(timeline);
  for (const Step& step : steps_) {
    if (may_stop && cancel_requested()) fail(ErrorCode::Cancelled, "cancelled");
    queue_step(timeline, step);
  }
}

void Program::queue_step(Timeline& timeline, const Step& step) {
  const Launch& launch = launch_of(step, 0);
  const auto lanes = static_cast<unsigned>(step.num_seats);
  const Start start = &step == steps_.data() ? Start::InOrder : Start::Early;
  if (step.place == kNoPlace) {
    return queue_kernel(timeline, step.function, launch, lanes, launch.arguments.data(), start);
  }
  const Address arguments = device_table_.address() + step.place;
  queue_kernel(timeline, step.function, launch, lanes, &arguments, start);
}

}  // namespace pippin::cuda
