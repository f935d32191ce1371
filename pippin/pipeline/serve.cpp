// The ranks after 0: they carry out its commands.
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/pipeline/execution.h"
#include "pippin/pipeline/pipeline.h"
#include "pippin/pipeline/state.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {

void Pipeline::serve() {
  for (;;) {
    const Message message = transport_->receive(0, Channel::Command);
    if (static_cast<Command>(message.at(0)) == Command::End) break;
    carry_out(message);
  }
  made_.clear();  // they keep this object alive
  kept_.clear();
  states_.clear();
}

void Pipeline::end_job(const Error& error) {
  constexpr auto kPatienceWithRoot = std::chrono::milliseconds(500);
  const auto end = std::chrono::steady_clock::now() + kPatienceWithRoot;
  while (std::chrono::steady_clock::now() < end) {
    if (!transport_->has_message(0, Channel::Command)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } else if (static_cast<Command>(transport_->receive(0, Channel::Command).at(0)) ==
               Command::End) {
      return;
    }
  }
  transport_->end_job(fmt::format("rank {}: {}", rank(), error.what()));
}

void Pipeline::carry_out(ByteSpan bytes) {
  ByteReader message(bytes, "a command of rank 0");
  const auto command = message.read<Command>();
  switch (command) {
    case Command::MakePlan:
      return make_plan_again(message);
    case Command::MakeExecution:
      return make_execution_again(message);
    case Command::Lanes: {
      PipelineExecution& of = execution(message.read<uint32_t>());
      return of.reserve_lanes(message.read<uint64_t>());
    }
    case Command::Run:
      return execution(message.read<uint32_t>()).carry_out_run(message);
    case Command::Fetch: {
      PipelineExecution& of = execution(message.read<uint32_t>());
      return answer([&] { return of.carry_out_fetch(message); });
    }
    default:
      return carry_out_on_state(command, message);
  }
}

void Pipeline::carry_out_on_state(Command command, ByteReader& message) {
  const auto id = message.read<uint64_t>();
  switch (command) {
    case Command::MakeState: {
      std::vector<mil::Feature> features(message.read<uint64_t>());
      for (mil::Feature& feature : features) {
        feature.name = read_text(message);
        feature.data_type = message.read<mil::DataType>();
        feature.shape = read_all<int64_t>(message);
      }
      states_.try_emplace(id, features);
      return;
    }
    case Command::CloneState: {
      const auto source = message.read<uint64_t>();
      states_.try_emplace(id, state(source).clone());
      return copy_failure(source, id);
    }
    case Command::FreeState:
      failures_.erase(id);
      states_.erase(id);
      return;
    case Command::ResetState:
      failures_.erase(id);
      return state(id).reset();
    default:
      break;
  }
  const auto index = message.read<uint64_t>();
  const auto rows = message.read<engine::StateRows>();
  engine::State& of = state(id);
  const OwnedRows own(rows, owners_of(of.features().at(index).name), group());
  switch (command) {
    case Command::CopyRows: {
      const auto source = message.read<uint64_t>();
      own.copy(of, index, state(source));
      return copy_failure(source, id);
    }
    case Command::ReadRows:
      return answer([&] { return own.read(of, index); });
    case Command::WriteRows:
      return own.write(of, index, read_bytes(message));
    default:
      fail(ErrorCode::Internal, "rank {} does not know command {}", rank(),
           static_cast<int>(command));
  }
}

void Pipeline::make_plan_again(ByteReader& message) {
  const auto id = message.read<uint32_t>(), model = message.read<uint32_t>();
  const auto groups = message.read<Groups>();
  const auto mark = message.read<uint64_t>();
  const std::string function = read_text(message);
  engine::PlanOptions options;
  options.compute = compute_;
  options.compute.batch_invariant = message.read<bool>();
  options.compute.fusion = message.read<bool>();
  const auto ranges = message.read<uint64_t>();
  for (uint64_t i = 0; i < ranges; ++i) {
    std::string input = read_text(message);
    options.input_ranges[std::move(input)] = read_all<mil::SizeRange>(message);
  }
  if (id >= plans_.size()) {
    if (model >= models_.size()) {
      fail(ErrorCode::Unsupported, "rank 0 opened a second model; several ranks run one");
    }
    kept_.push_back(make_plan(*models_[model], function, options, groups));
  }
  const auto plan = plans_.at(id).lock();
  if (plan == nullptr || plan->mark() != mark) {
    fail(ErrorCode::Unsupported,
         "rank {} has another plan of {} than rank 0: give all ranks the same files, options and "
         "--context",
         rank(), function);
  }
}

void Pipeline::make_execution_again(ByteReader& message) {
  const auto id = message.read<uint32_t>(), plan = message.read<uint32_t>();
  if (id < executions_.size()) {
    if (execution(id).plan_id() == plan) return;
    fail(ErrorCode::Internal, "rank {} has another execution {} than rank 0", rank(), id);
  }
  if (pool_ == nullptr) fail(ErrorCode::Internal, "rank {} has opened no model", rank());
  made_.push_back(std::make_unique<engine::Execution>(plans_.at(plan).lock(), *pool_));
}

PipelineExecution& Pipeline::execution(uint32_t id) {
  PipelineExecution* const found = executions_.at(id);
  if (found == nullptr) fail(ErrorCode::Internal, "rank {} released execution {}", rank(), id);
  return *found;
}

engine::State& Pipeline::state(uint64_t id) {
  const auto found = states_.find(id);
  if (found == states_.end()) fail(ErrorCode::Internal, "rank {} has no state {}", rank(), id);
  return found->second;
}

void Pipeline::copy_failure(uint64_t from, uint64_t to) {
  const auto failure = failures_.find(from);
  if (failure != failures_.end()) keep_failure(to, failure->second);
}

void Pipeline::throw_failure(uint64_t state) {
  const auto failure = failures_.extract(state);
  if (!failure.empty()) throw Error(failure.mapped());
}

void Pipeline::answer(const std::function<Message()>& body) {
  Writer reply;
  try {
    const Message content = body();
    put_error(reply, std::nullopt);
    reply.put_raw(content);
  } catch (const Error& error) {
    put_error(reply, error);
  }
  transport_->send(0, Channel::Reply, reply.take());
}

}  // namespace pippin::pipeline
