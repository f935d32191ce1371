#include "pippin/pipeline/state.h"

#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {
namespace {

Writer state_command(Command command, uint64_t id) {
  Writer message;
  message.put(command).put(id);
  return message;
}

}  // namespace

PipelineState::PipelineState(std::shared_ptr<Pipeline> pipeline, std::vector<mil::Feature> features)
    : pipeline_(std::move(pipeline)),
      features_(std::move(features)),
      local_(features_),
      id_(pipeline_->next_state()) {
  if (!pipeline_->is_root()) return;
  Writer message = state_command(Command::MakeState, id_);
  message.put<uint64_t>(features_.size());
  for (const mil::Feature& feature : features_) {
    message.put_text(feature.name).put(feature.data_type);
    message.put_all(std::span<const int64_t>(feature.shape));
  }
  pipeline_->command_all(message.take());
}

PipelineState::PipelineState(std::shared_ptr<Pipeline> pipeline, std::vector<mil::Feature> features,
                             engine::State local, uint64_t id)
    : pipeline_(std::move(pipeline)),
      features_(std::move(features)),
      local_(std::move(local)),
      id_(id) {}

PipelineState::~PipelineState() {
  if (!pipeline_->is_root()) return;
  try {
    pipeline_->command_all(state_command(Command::FreeState, id_).take());
  } catch (const Error&) {  // the job ends anyway
  }
}

void PipelineState::reset() {
  local_.reset();
  if (pipeline_->is_root()) {
    pipeline_->command_all(state_command(Command::ResetState, id_).take());
  }
}

std::unique_ptr<engine::StateMemory> PipelineState::clone() const {
  const uint64_t id = pipeline_->next_state();
  if (pipeline_->is_root()) {
    pipeline_->command_all(state_command(Command::CloneState, id).put(id_).take());
  }
  return std::unique_ptr<engine::StateMemory>(
      new PipelineState(pipeline_, features_, local_.clone(), id));
}

OwnedRows PipelineState::owned(size_t index, const engine::StateRows& rows, int group) const {
  return {rows, pipeline_->owners_of(features_.at(index).name), group};
}

void PipelineState::read_rows(size_t index, const engine::StateRows& asked, std::byte* to,
                              uint64_t stride) const {
  const engine::StateRows rows = by_slices(features_.at(index), asked);
  if (rows.groups != asked.groups) stride = rows.group_bytes();
  if (rows.size() == 0) return;
  std::map<int, std::shared_ptr<Answer>> answers;  // all read at the same time
  {
    const auto turn = pipeline_->take_turn();
    for (int group = 1; group < pipeline_->groups(); ++group) {
      if (owned(index, rows, group).groups().empty()) continue;
      Writer question = state_command(Command::ReadRows, id_);
      answers[group] = pipeline_->ask_ahead(pipeline_->leader(group),
                                            question.put<uint64_t>(index).put(rows).take());
    }
  }
  for (int group = 0; group < pipeline_->groups(); ++group) {
    const OwnedRows own = owned(index, rows, group);
    if (own.groups().empty()) continue;
    const Message bytes =
        group == 0 ? own.read(local_, index) : pipeline_->answer_of(answers.at(group));
    if (bytes.size() != own.groups().size() * rows.group_bytes()) {
      fail(ErrorCode::Internal, "rank {} sent {} bytes of {} groups of rows",
           pipeline_->leader(group), bytes.size(), own.groups().size());
    }
    const std::byte* next = bytes.data();
    for (const uint64_t number : own.groups()) {
      std::memcpy(to + number * stride, next, rows.group_bytes());
      next += rows.group_bytes();
    }
  }
}

void PipelineState::write_rows(size_t index, const engine::StateRows& asked, const std::byte* from,
                               uint64_t stride) {
  const engine::StateRows rows = by_slices(features_.at(index), asked);
  if (rows.groups != asked.groups) stride = rows.group_bytes();
  if (rows.size() == 0) return;
  for (int group = 0; group < pipeline_->groups(); ++group) {
    const OwnedRows own = owned(index, rows, group);
    if (own.groups().empty()) continue;
    Message bytes;
    bytes.reserve(own.groups().size() * rows.group_bytes());
    for (const uint64_t number : own.groups()) {
      const std::byte* const begin = from + number * stride;
      bytes.insert(bytes.end(), begin, begin + rows.group_bytes());
    }
    if (group == 0) own.write(local_, index, bytes);
    if (!pipeline_->has_others(group)) continue;
    Writer message = state_command(Command::WriteRows, id_);
    pipeline_->command_group(group, message.put<uint64_t>(index).put(rows).put_bytes(bytes).take());
  }
}

void PipelineState::copy_rows(size_t index, const engine::StateRows& asked,
                              const engine::StateMemory& from) {
  const auto& other = static_cast<const PipelineState&>(from);
  const engine::StateRows rows = by_slices(features_.at(index), asked);
  owned(index, rows, pipeline_->group()).copy(local_, index, other.local_);
  if (!pipeline_->is_root()) return;
  Writer message = state_command(Command::CopyRows, id_);
  pipeline_->command_all(message.put<uint64_t>(index).put(rows).put(other.id_).take());
}

}  // namespace pippin::pipeline
