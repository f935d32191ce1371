#include "pippin/serve/scheduler.h"

#include <algorithm>
#include <utility>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/serve/loop.h"

namespace pippin::serve {

using runtime::StopReason;

Scheduler::Scheduler(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
                     const SchedulerOptions& options)
    : loop_(std::make_unique<Loop>(std::move(model), std::move(tokenizer), options)) {}

Scheduler::~Scheduler() = default;

std::shared_ptr<Job> Scheduler::submit(Request request, std::shared_ptr<Listener> listener) {
  return loop_->submit(std::move(request), std::move(listener));
}

SchedulerState Scheduler::state() const {
  return loop_->state();
}

Scheduler::Loop::Loop(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
                      const SchedulerOptions& options)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      max_running_(model_->capabilities().many_sequences ? std::max<int64_t>(options.max_running, 1)
                                                         : 1),
      max_waiting_(options.max_waiting),
      pool_(options.cache_tokens),
      piece_size_(options.step_seconds),
      batch_(model_) {
  publish();
  thread_ = Thread([this] { run(); });
}

Scheduler::Loop::~Loop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (const auto& task : arrived_) task->cancel();
  wake_.notify_all();
}

std::shared_ptr<Job> Scheduler::Loop::submit(Request request, std::shared_ptr<Listener> listener) {
  runtime::check_vocabulary(*model_, request.prompt);
  if (request.options.overflow != runtime::Overflow::Stop) {
    fail(ErrorCode::Unsupported, "a scheduled text ends where its context does: no other overflow");
  }
  const int64_t size = std::ssize(request.prompt);
  if (size > model_->context()) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}", size,
         model_->context());
  }
  if (!pool_.could_hold(size)) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the memory for caches holds {}", size,
         pool_.total() * kBlockTokens);
  }
  auto task = std::make_shared<Task>(*model_, tokenizer_, std::move(request), std::move(listener));
  const std::lock_guard lock(mutex_);
  const int64_t waiting = published_.waiting + std::ssize(arrived_);
  if (waiting >= max_waiting_) {
    fail(ErrorCode::LimitExceeded, "{} requests wait already, the most that may", waiting);
  }
  arrived_.push_back(task);
  wake_.notify_one();
  return task;
}

SchedulerState Scheduler::Loop::state() const {
  const std::lock_guard lock(mutex_);
  SchedulerState state = published_;
  state.waiting += std::ssize(arrived_);
  return state;
}

void Scheduler::Loop::run() noexcept {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] {
        return is_stopped_ || !arrived_.empty() || !waiting_.empty() || !running_.empty();
      });
      waiting_.insert(waiting_.end(), arrived_.begin(), arrived_.end());
      published_.waiting += std::ssize(arrived_);  // submit() counts them meanwhile
      arrived_.clear();
      if (is_stopped_) break;
    }
    try {
      step();
    } catch (...) {  // nothing of a single request: memory, or a fault of ours
      for (const auto& task : running_) task->fail(std::current_exception());
      remove_ended();
    }
    publish();
  }
  for (const auto& task : running_) task->end(StopReason::Cancelled);
  for (const auto& task : waiting_) task->end(StopReason::Cancelled);
}

void Scheduler::Loop::step() {
  has_moved_ = false;
  for (const auto& task : running_) {
    if (task->is_cancelled()) task->end(StopReason::Cancelled);
  }
  remove_ended();
  begin_waiting();
  publish();  // who began waits no more
  const double decode_seconds = decode();
  read_piece(decode_seconds);
  remove_ended();
  if (!has_moved_ && !running_.empty()) make_room();
  ++counts_.steps;
}

void Scheduler::Loop::begin_waiting() {
  std::erase_if(waiting_, [](const auto& task) {
    if (task->is_cancelled()) task->end(StopReason::Cancelled);
    return task->has_ended();
  });
  while (!waiting_.empty() && !is_tight_ && std::ssize(running_) < max_running_) {
    const std::shared_ptr<Task> task = waiting_.front();
    if (!begin(*task)) return;
    waiting_.pop_front();
    if (!task->has_ended()) running_.push_back(task);
  }
}

// False if there is no room now. A task that can never begin has ended.
bool Scheduler::Loop::begin(Task& task) {
  const int64_t size = std::ssize(task.to_feed());
  if (!pool_.could_hold(size)) {  // it was preempted, and has grown since it came
    task.end(StopReason::ContextFull);
    return true;
  }
  if (!pool_.grow(task.held_blocks, size)) return false;
  try {
    task.begin(model_->new_sequence());
    return true;
  } catch (const Error& error) {
    pool_.give_back(task.held_blocks);
    if (error.code() == ErrorCode::LimitExceeded && !running_.empty()) return false;
    task.fail(std::current_exception());
    return true;
  }
}

double Scheduler::Loop::decode() {
  decoding_.clear();
  batch_.clear();
  for (const auto& task : running_) {
    if (!task->is_decoding()) continue;
    if (!pool_.grow(task->held_blocks, task->sequence().position() + 1)) continue;
    batch_.add(task->sequence(), task->to_feed());
    decoding_.push_back(task);
  }
  if (decoding_.empty()) return 0;
  const auto start = std::chrono::steady_clock::now();
  bool has_failed = false;
  try {
    batch_.run();
  } catch (...) {
    has_failed = true;  // whose fault it is, shows when each is fed alone
  }
  for (size_t i = 0; i < decoding_.size(); ++i) {
    Task& task = *decoding_[i];
    if (has_failed && !task.to_feed().empty()) {
      decode_alone(task);
    } else {
      take(task, batch_.logits(i));
    }
  }
  decoding_.clear();  // who has ended is not kept until the next step, which may be long in coming
  has_moved_ = true;
  return seconds_since(start);
}

void Scheduler::Loop::take(Task& task, std::span<const float> logits) {
  const int64_t before = task.num_generated();
  task.take(logits);
  counts_.generated_tokens += static_cast<uint64_t>(task.num_generated() - before);
}

void Scheduler::Loop::decode_alone(Task& task) try {
  take(task, task.sequence().prefill(task.to_feed()));
} catch (...) {
  task.fail(std::current_exception());
}

void Scheduler::Loop::read_piece(double decode_seconds) {
  std::shared_ptr<Task> task;
  for (size_t i = 0; i < running_.size() && task == nullptr; ++i) {
    const auto& next = running_[(next_turn_ + i) % running_.size()];
    if (next->has_ended() || next->is_decoding()) continue;
    task = next;
    next_turn_ = (next_turn_ + i + 1) % running_.size();
  }
  if (task == nullptr) return;
  has_moved_ = true;
  const auto start = std::chrono::steady_clock::now();
  const int64_t left = std::ssize(task->to_feed());
  const int64_t size = piece_size_.choose(left, decode_seconds);
  try {
    const CancelScope scope(task->cancel_token());
    batch_.clear();
    batch_.add(task->sequence(), task->to_feed().first(static_cast<size_t>(size)),
               size == left ? runtime::Rows::Last : runtime::Rows::None);
    batch_.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) return task->end(StopReason::Cancelled);
    return task->fail(std::current_exception());
  } catch (...) {
    return task->fail(std::current_exception());
  }
  piece_size_.measured(size, seconds_since(start));
  counts_.prompt_tokens += static_cast<uint64_t>(size);
  task->tell_progress();
  if (size == left && !task->has_ended()) take(*task, batch_.logits(0));
}

// All that run wait for memory.
void Scheduler::Loop::make_room() {
  const std::shared_ptr<Task> last = running_.back();
  if (running_.size() == 1) {
    last->end(StopReason::ContextFull);
    return remove_ended();
  }
  running_.pop_back();
  last->preempt();
  pool_.give_back(last->held_blocks);
  waiting_.push_front(last);
  is_tight_ = true;
  ++counts_.preempted;
}

void Scheduler::Loop::remove_ended() {
  const auto ended = std::erase_if(running_, [&](const auto& task) {
    if (task->has_ended()) pool_.give_back(task->held_blocks);
    return task->has_ended();
  });
  if (ended > 0 || running_.empty()) is_tight_ = false;
}

void Scheduler::Loop::publish() {
  counts_.waiting = std::ssize(waiting_);
  counts_.decoding = std::count_if(running_.begin(), running_.end(),
                                   [](const auto& t) { return t->is_decoding(); });
  counts_.reading = std::ssize(running_) - counts_.decoding;
  counts_.blocks_used = pool_.used();
  counts_.blocks = pool_.total();
  counts_.prompt_tokens_per_second = piece_size_.tokens_per_second();
  const std::lock_guard lock(mutex_);
  published_ = counts_;
}

}  // namespace pippin::serve
