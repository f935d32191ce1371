#include "pippin/pipeline/pipeline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/engine/cpu/make_plan.h"
#include "pippin/engine/planning/planning.h"
#include "pippin/pipeline/device.h"
#include "pippin/pipeline/group_peers.h"
#include "pippin/pipeline/plan.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {

Pipeline::Pipeline(std::unique_ptr<Transport> transport, const Grouping& grouping)
    : transport_(std::move(transport)), grouping_(grouping), answers_(*transport_) {
  if (width() > 1) peers_ = std::make_shared<GroupPeers>(*this, grouping.least_work);
}

std::shared_ptr<Pipeline> Pipeline::make(std::unique_ptr<Transport> transport,
                                         const Grouping& grouping) {
  const int width = grouping.width;
  if (width < 1 || transport->size() % width != 0) {
    fail(ErrorCode::InvalidArgument, "{} ranks do not form groups of {}", transport->size(), width);
  }
  const CpuFeatures own = cpu_features();
  if (transport->rank() == 0) {
    for (int rank = 1; rank < transport->size(); ++rank) {
      transport->send(rank, Channel::Command, Writer().put(own).take());
    }
  } else {
    const Message message = transport->receive(0, Channel::Command);
    ByteReader reader(message, "rank 0's processor");
    const auto other = reader.read<CpuFeatures>();
    if (std::memcmp(&own, &other, sizeof(own)) != 0) {
      transport->end_job(fmt::format(
          "rank {} has another processor than rank 0 ({}, and {}), whose results would differ: set "
          "PIPPIN_CPU to a level that both have (avx2, for example)",
          transport->rank(), to_string(own), to_string(other)));
    }
  }
  return std::shared_ptr<Pipeline>(new Pipeline(std::move(transport), grouping));
}

Pipeline::~Pipeline() {
  if (!is_root()) return;
  try {
    answers_.receive_all();  // a transport can end when its messages were taken
    command_all(Writer().put(Command::End).take());
  } catch (const Error&) {  // the job ends anyway
  }
}

std::shared_ptr<engine::Device> Pipeline::device() {
  return std::make_shared<PipelineDevice>(shared_from_this(), Groups{0, groups()});
}

Pipeline::Traffic Pipeline::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

void Pipeline::command(int to, Message message) {
  {
    const std::lock_guard lock(mutex_);
    ++traffic_.commands;
  }
  transport_->send(to, Channel::Command, std::move(message));
}

void Pipeline::command_all(const Message& message) {
  for (int rank = 1; rank < size(); ++rank) command(rank, message);
}

Message Pipeline::ask(int rank, Message question) {
  std::shared_ptr<Answer> answer;
  {
    const auto turn = take_turn();
    answer = ask_ahead(rank, std::move(question));
  }
  return answer_of(answer);
}

std::shared_ptr<Answer> Pipeline::ask_ahead(int rank, Message question) {
  command(rank, std::move(question));
  return answers_.expect(rank);
}

Message Pipeline::answer_of(const std::shared_ptr<Answer>& answer) {
  {
    const std::lock_guard lock(mutex_);
    ++traffic_.replies;
  }
  return answers_.take(*answer);
}

void Pipeline::command_group(int group, const Message& message) {
  for (int rank = leader(group); rank < leader(group + 1); ++rank) {
    if (rank != 0) command(rank, message);
  }
}

void Pipeline::pass(int group, Message values) {
  {
    const std::lock_guard lock(mutex_);
    ++traffic_.values;
    traffic_.value_bytes += values.size();
  }
  transport_->send(leader(group) + rank() % width(), Channel::Values, std::move(values));
}

std::vector<Message> Pipeline::exchange(std::span<const int> others, const Message& own) {
  {
    const std::lock_guard lock(mutex_);
    traffic_.parts += others.size();
    traffic_.part_bytes += others.size() * own.size();
  }
  return transport_->exchange(others, own);
}

std::vector<int> Pipeline::owners_of(const std::string& state) const {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(state);
  return found == owners_.end() ? std::vector<int>() : found->second;
}

std::shared_ptr<const engine::Plan> Pipeline::make_plan(const mil::Model& model,
                                                        std::string_view function,
                                                        const engine::PlanOptions& options,
                                                        Groups groups) {
  if (!options.outputs.empty() || options.compute.precision == engine::Precision::Reference) {
    fail(ErrorCode::Unsupported,
         "function {}: several ranks run whole functions, and not with --precision reference",
         function);
  }
  engine::ComputeOptions compute = options.compute;
  compute.device = nullptr;
  const auto whole = engine::make_plan(
      engine::plan_nodes(model, function, options, engine::cpu_target(compute)), compute);
  const std::lock_guard lock(mutex_);
  const auto known = std::find(models_.begin(), models_.end(), &model);
  const auto place = static_cast<uint32_t>(known - models_.begin());
  if (known == models_.end()) {
    borders_.push_back(choose_borders(*whole, groups.count));
    models_.push_back(&model);
  }
  compute_ = compute;
  std::vector<Stage> stages = cut(*whole, groups, borders_[place]);
  add_owners(whole->node_plan, stages, owners_);
  const auto id = static_cast<uint32_t>(plans_.size());
  auto plan = std::make_shared<const PipelinePlan>(shared_from_this(), id, whole, std::move(stages),
                                                   compute);
  plans_.emplace_back(plan);
  if (is_root()) {
    Writer message;
    message.put(Command::MakePlan).put(id).put(place).put(groups).put(plan->mark());
    message.put_text(function).put(compute.batch_invariant).put(compute.fusion);
    message.put<uint64_t>(options.input_ranges.size());
    for (const auto& [input, range] : options.input_ranges) {
      message.put_text(input).put_all(std::span<const mil::SizeRange>(range));
    }
    const Message bytes = message.take();
    for (int rank = 1; rank < size(); ++rank) {
      ++traffic_.commands;
      transport_->send(rank, Channel::Command, bytes);
    }
  }
  return plan;
}

uint32_t Pipeline::add(const PipelinePlan& plan, PipelineExecution& execution, ThreadPool& pool) {
  const std::lock_guard lock(mutex_);
  pool_ = &pool;
  const auto id = static_cast<uint32_t>(executions_.size());
  executions_.push_back(&execution);
  if (is_root()) {
    const Message message = Writer().put(Command::MakeExecution).put(id).put(plan.id()).take();
    for (int rank = 1; rank < size(); ++rank) {
      ++traffic_.commands;
      transport_->send(rank, Channel::Command, message);
    }
  }
  return id;
}

void Pipeline::remove(uint32_t execution) {
  const std::lock_guard lock(mutex_);
  executions_.at(execution) = nullptr;
}

}  // namespace pippin::pipeline
