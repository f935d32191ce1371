#include "pippin/pipeline/execution.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/pipeline/commands.h"
#include "pippin/pipeline/pipeline.h"
#include "pippin/pipeline/state.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {
namespace {

size_t operand_bytes(const engine::Operand& operand) {
  return static_cast<size_t>(operand.size() * engine::element_size(operand.storage));
}

// The addresses of states in lanes of the whole plan, which nothing reads.
std::byte* no_address(engine::State& state, size_t /*index*/) {
  static std::byte nowhere;
  state.memory<PipelineState>(kDeviceName);
  return &nowhere;
}

// The form in which an input's new value is sent.
enum class InputForm : uint8_t { Bytes, CausalMask };

}  // namespace

PipelineExecution::Seat::Seat(const std::shared_ptr<const engine::LaneLayout>& layout,
                              uint64_t arena_bytes)
    : arena(std::max<uint64_t>(arena_bytes, 64), "inputs of a pipeline"),
      lane(layout, arena.data()),
      is_written(layout->plan.inputs.size(), true),
      fetched(layout->plan.outputs.size()) {}

ByteSpan PipelineExecution::Seat::input(size_t index) const {
  const engine::Operand& operand = lane.input(index);
  return {operand.data, operand_bytes(operand)};
}

size_t PipelineExecution::Seat::output_size(size_t index) const {
  return operand_bytes(lane.output(index));
}

PipelineExecution::PipelineExecution(const PipelinePlan& plan, ThreadPool& pool)
    : plan_(plan),
      layout_(std::make_shared<const engine::LaneLayout>(plan.nodes(),
                                                         engine::LaneMemory{no_address, {}})),
      own_(plan.own() != nullptr ? std::make_unique<StageRun>(plan, pool) : nullptr),
      ahead_(plan.pipeline()),
      id_(plan.pipeline().add(plan, *this, pool)) {
  seats_.push_back(std::make_unique<Seat>(layout_, plan.arena_bytes()));
}

PipelineExecution::~PipelineExecution() {
  plan_.pipeline().remove(id_);
}

void PipelineExecution::reserve_lanes(size_t count) {
  if (count <= seats_.size()) return;
  seats_.reserve(count);
  while (seats_.size() < count) {
    seats_.push_back(std::make_unique<Seat>(layout_, plan_.arena_bytes()));
  }
  if (own_ != nullptr) own_->reserve_lanes(count);
  if (!plan_.pipeline().is_root()) return;
  for (const Stage& stage : plan_.stages()) {
    plan_.pipeline().command_group(
        stage.group, Writer().put(Command::Lanes).put(id_).put<uint64_t>(count).take());
  }
}

void PipelineExecution::bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
                             size_t lane) {
  Seat& seat = *seats_.at(lane);
  seat.lane.bind(shapes, state);
  seat.shapes = shapes;
  seat.state = &state;
  if (!plan_.states().empty()) seat.state_id = state.memory<PipelineState>(kDeviceName).id();
}

MutableByteSpan PipelineExecution::input_bytes(size_t index, size_t lane) {
  Seat& seat = *seats_.at(lane);
  seat.is_written.at(index) = true;
  seat.past.erase(index);
  const engine::Operand& operand = seat.lane.input(index);
  return {operand.data, operand_bytes(operand)};
}

bool PipelineExecution::put_causal_mask(size_t index, int64_t past, size_t lane) {
  Seat& seat = *seats_.at(lane);
  if (seat.lane.input(index).storage != engine::Storage::F32) return false;
  seat.past[index] = past;
  return true;
}

uint32_t PipelineExecution::plan_id() const {
  return plan_.id();
}

void PipelineExecution::run(size_t lane, std::optional<engine::WantedRows> rows) {
  start({&lane, 1}, rows);
}

void PipelineExecution::run_together(std::span<const size_t> lanes) {
  start(lanes, std::nullopt);
}

void PipelineExecution::start(std::span<const size_t> lanes,
                              const std::optional<engine::WantedRows>& rows) {
  if (!plan_.pipeline().is_root()) {
    fail(ErrorCode::Internal, "a run of {} that rank 0 did not start", plan_.name());
  }
  for (const size_t lane : lanes) {
    engine::Lane& whole = seats_.at(lane)->lane;
    whole.take_values(
        [&](size_t input, size_t element) { return whole.input(input).ints()[element]; });
  }
  const auto turn = plan_.pipeline().take_turn();
  // All that can fail comes before the first command: other ranks wait for the values of each run.
  std::vector<std::pair<int, Message>> commands;
  for (const Stage& stage : plan_.stages()) {
    if (plan_.pipeline().has_others(stage.group)) {
      commands.emplace_back(stage.group, run_message(stage, lanes, rows));
    }
  }
  if (own_ != nullptr) {
    for (const size_t lane : lanes) put_own_inputs(plan_.stages()[*plan_.own_stage()], lane);
  }
  for (const auto& [group, message] : commands) plan_.pipeline().command_group(group, message);
  const bool is_read = !rows || rows->begin < rows->end;
  for (const size_t lane : lanes) {
    Seat& seat = *seats_[lane];
    std::fill(seat.is_written.begin(), seat.is_written.end(), false);
    if (is_read && plan_.stages().back().group != 0) ask_for_outputs(lane);
  }
  if (own_ == nullptr) return;
  if (const auto failure = own_->run(lanes, rows)) throw Error(*failure);
}

void PipelineExecution::ask_for_outputs(size_t lane) {
  const Seat& seat = *seats_[lane];
  const int last = plan_.pipeline().leader(plan_.stages().back().group);
  const auto size_of = [&](size_t index) { return seat.output_size(index); };
  for (const OutputPart& part : ahead_.start(lane, seat.state_id, size_of)) {
    ahead_.asked(lane, seat.state_id, part,
                 plan_.pipeline().ask_ahead(last, fetch_message(part, lane)));
  }
}

Message PipelineExecution::fetch_message(const OutputPart& part, size_t lane) const {
  Writer message;
  message.put(Command::Fetch).put(id_).put<uint64_t>(part.index).put<uint64_t>(lane);
  return message.put<uint64_t>(part.begin).put<uint64_t>(part.size).take();
}

Message PipelineExecution::run_message(const Stage& stage, std::span<const size_t> lanes,
                                       const std::optional<engine::WantedRows>& rows) const {
  Writer message;
  message.put(Command::Run).put(id_);
  message.put<int64_t>(rows ? rows->begin : -1).put<int64_t>(rows ? rows->end : -1);
  message.put<uint64_t>(lanes.size());
  for (const size_t lane : lanes) {
    const Seat& seat = *seats_[lane];
    message.put<uint64_t>(lane);
    message.put<uint64_t>(seat.state_id);
    for (const auto& shape : seat.shapes) message.put_all(std::span<const int64_t>(shape));
    std::vector<size_t> changed;
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      if (stage.inputs[i] && (seat.is_written[i] || seat.past.contains(i))) changed.push_back(i);
    }
    message.put<uint64_t>(changed.size());
    for (const size_t i : changed) {
      message.put<uint64_t>(i);
      const auto past = seat.past.find(i);
      if (past != seat.past.end()) {
        message.put(InputForm::CausalMask).put(past->second);
      } else {
        message.put(InputForm::Bytes).put_bytes(seat.input(i));
      }
    }
  }
  return message.take();
}

void PipelineExecution::put_own_inputs(const Stage& stage, size_t lane) {
  const Seat& seat = *seats_[lane];
  const bool has_states = !plan_.states().empty();
  own_->bind(seat.shapes,
             has_states ? seat.state->memory<PipelineState>(kDeviceName).local() : *seat.state,
             lane);
  for (size_t i = 0; i < stage.inputs.size(); ++i) {
    if (!stage.inputs[i]) continue;
    const auto past = seat.past.find(i);
    if (past != seat.past.end()) {
      own_->put_causal_mask(i, seat.shapes.at(i), past->second, lane);
    } else if (seat.is_written[i]) {
      own_->put(i, seat.input(i), lane);
    }
  }
}

ByteSpan PipelineExecution::output_bytes(size_t index, size_t lane) const {
  return output_part(index, 0, seats_.at(lane)->output_size(index), lane);
}

ByteSpan PipelineExecution::output_part(size_t index, size_t begin, size_t size,
                                        size_t lane) const {
  const int rank = plan_.pipeline().leader(plan_.stages().back().group);
  if (rank == 0 && plan_.pipeline().is_root()) {
    return own_->output_part(index, begin, size, lane);
  }
  Seat& seat = *seats_.at(lane);
  auto& place = seat.fetched.at(index);
  place.resize(seat.output_size(index));
  if (!plan_.pipeline().is_root()) return std::span(place).subspan(begin, size);  // while opening
  const OutputPart part = {index, begin, size, place.size()};
  auto asked = ahead_.take(lane, seat.state_id, part);
  const Message bytes =
      asked ? std::move(*asked) : plan_.pipeline().ask(rank, fetch_message(part, lane));
  if (bytes.size() != size) {
    fail(ErrorCode::Internal, "{} bytes of an output were sent, {} are expected", bytes.size(),
         size);
  }
  if (size > 0) std::memcpy(place.data() + begin, bytes.data(), size);
  return std::span(place).subspan(begin, size);
}

std::span<const int64_t> PipelineExecution::output_shape(size_t index, size_t lane) const {
  const engine::Operand& operand = seats_.at(lane)->lane.output(index);
  return {operand.shape, static_cast<size_t>(operand.rank)};
}

void PipelineExecution::carry_out_run(ByteReader& message) {
  const auto begin = message.read<int64_t>(), end = message.read<int64_t>();
  const auto rows =
      begin >= 0 || end >= 0 ? std::optional(engine::WantedRows{begin, end}) : std::nullopt;
  std::vector<size_t> lanes(message.read<uint64_t>());
  static engine::State none({});
  std::vector<std::vector<int64_t>> shapes(plan_.inputs().size());
  for (size_t& lane : lanes) {
    lane = message.read<uint64_t>();
    const auto id = message.read<uint64_t>();
    if (states_.size() <= lane) states_.resize(lane + 1, 0);
    states_[lane] = id;
    for (auto& shape : shapes) shape = read_all<int64_t>(message);
    own_->bind(shapes, id == 0 ? none : plan_.pipeline().state(id), lane);
    const auto changed = message.read<uint64_t>();
    for (uint64_t i = 0; i < changed; ++i) {
      const auto input = message.read<uint64_t>();
      if (message.read<InputForm>() == InputForm::CausalMask) {
        own_->put_causal_mask(input, shapes.at(input), message.read<int64_t>(), lane);
      } else {
        own_->put(input, read_bytes(message), lane);
      }
    }
  }
  const auto failure = own_->run(lanes, rows);
  if (!failure) return;
  for (const size_t lane : lanes) plan_.pipeline().keep_failure(failure_key(lane), *failure);
}

uint64_t PipelineExecution::failure_key(size_t lane) const {
  constexpr int kNoState = 63, kExecution = 31;
  const uint64_t state = lane < states_.size() ? states_[lane] : 0;
  return state != 0 ? state : uint64_t{1} << kNoState | uint64_t{id_} << kExecution | lane;
}

Message PipelineExecution::carry_out_fetch(ByteReader& message) {
  const auto index = message.read<uint64_t>(), lane = message.read<uint64_t>(),
             begin = message.read<uint64_t>(), size = message.read<uint64_t>();
  plan_.pipeline().throw_failure(failure_key(lane));
  const ByteSpan bytes = own_->output_part(index, begin, size, lane);
  return {bytes.begin(), bytes.end()};
}

}  // namespace pippin::pipeline
