// Steps of the sequences that decode, one or several in flight.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <span>

#include "pippin/base/stopwatch.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/scheduling/loop.h"

namespace pippin::scheduling {

// Starts a step, and finishes the oldest one if no more can be started. On most devices a step is
// finished before the next one is started; a pipeline of machines computes several.
double Scheduler::Loop::decode() {
  const auto start = std::chrono::steady_clock::now();
  const bool has_more = start_step();
  if (num_started_ == 0) return 0;
  has_moved_ = true;
  if (num_started_ == flights_.size() || !has_more) finish_step();
  return seconds_since(start);
}

// Starts a step with the part of the sequences that keeps all steps equally large. Returns whether
// others could be in a further step.
bool Scheduler::Loop::start_step() {
  ready_.clear();
  size_t decoding = 0;
  for (const auto& task : running_) {
    decoding += task->in_flight ? 1 : 0;
    if (task->in_flight || !task->is_decoding()) continue;
    if (task->in_background() && !is_background_turn_) continue;
    if (!pool_.grow(task->held_blocks, task->sequence().position() + 1)) continue;
    ready_.push_back(task);
  }
  decoding += ready_.size();
  if (ready_.empty()) return false;
  const size_t left = flights_.size() - num_started_;
  const auto share = [](size_t count, size_t steps) { return (count + steps - 1) / steps; };
  const size_t count = std::min(share(ready_.size(), left), share(decoding, flights_.size()));
  const bool has_more = count < ready_.size();
  if (has_more) {
    std::stable_sort(ready_.begin(), ready_.end(), [](const auto& one, const auto& other) {
      return one->last_step < other->last_step;
    });
    ready_.resize(count);
  }
  Flight& flight = flights_[(oldest_ + num_started_) % flights_.size()];
  flight.tasks.swap(ready_);
  flight.is_alone = decoding == 1;
  flight.has_failed = false;
  flight.batch.clear();
  for (const auto& task : flight.tasks) {
    const auto ids = tokens_to_decode(*task, flight.is_alone);
    flight.batch.add(task->sequence(), ids,
                     ids.size() > 1 ? runtime::Rows::Every : task->last_row());
    task->last_step = counts_.steps;
  }
  flight.start = std::chrono::steady_clock::now();
  for (const auto& task : flight.tasks) task->in_flight = true;
  try {
    flight.batch.start();
  } catch (...) {
    flight.has_failed = true;
  }
  ++num_started_;
  return has_more;
}

// Finishes the oldest step and chooses the tokens of its sequences.
void Scheduler::Loop::finish_step() {
  Flight& flight = flights_[oldest_];
  bool has_failed = flight.has_failed;
  for (const auto& task : flight.tasks) task->in_flight = false;
  oldest_ = (oldest_ + 1) % flights_.size();
  --num_started_;
  try {
    if (!has_failed) {
      flight.batch.finish();
      check_files();
    }
  } catch (...) {
    has_failed = true;
  }
  // After a failure, each runs alone to find the failing one.
  if (has_failed && flight.is_alone) flight.tasks.front()->drop_drafts();
  const double seconds = flight.is_alone ? seconds_since(flight.start) : 0;
  for (size_t i = 0; i < flight.tasks.size(); ++i) {
    Task& task = *flight.tasks[i];
    if (has_failed && !task.to_feed().empty()) {
      decode_alone(task);
    } else {
      take(task, flight.batch.logits(i), seconds);
    }
  }
  flight.tasks.clear();  // releases ended tasks now: the next step may come much later
}

void Scheduler::Loop::finish_steps() {
  while (num_started_ > 0) finish_step();
}

// Ends all steps without choosing tokens.
void Scheduler::Loop::drop_steps() noexcept {
  for (Flight& flight : flights_) {
    flight.batch.clear();
    for (const auto& task : flight.tasks) task->in_flight = false;
    flight.tasks.clear();
  }
  num_started_ = 0;
}

// Adds drafts if no other sequence could share the pass.
std::span<const int32_t> Scheduler::Loop::tokens_to_decode(Task& task, bool is_alone) {
  const auto last = task.to_feed();
  const auto drafts = is_alone ? task.propose(INT64_MAX) : std::span<const int32_t>();
  if (drafts.empty()) return last;
  fed_.assign(last.begin(), last.end());
  fed_.insert(fed_.end(), drafts.begin(), drafts.end());
  const int64_t count = task.sequence().position() + std::ssize(fed_);
  if (pool_.grow(task.held_blocks, count) &&
      runtime::prepare_to_drop(task.sequence(), std::ssize(fed_))) {
    return fed_;
  }
  task.drop_drafts();
  return last;
}

void Scheduler::Loop::take(Task& task, std::span<const float> logits, double seconds) {
  const int64_t before = task.num_generated();
  const int64_t drafted = task.num_drafted(), accepted = task.num_accepted();
  task.take(logits, seconds);
  counts_.generated_tokens += static_cast<uint64_t>(task.num_generated() - before);
  counts_.drafted_tokens += static_cast<uint64_t>(task.num_drafted() - drafted);
  counts_.accepted_tokens += static_cast<uint64_t>(task.num_accepted() - accepted);
}

void Scheduler::Loop::decode_alone(Task& task) try {
  const std::span<const float> logits = task.sequence().prefill(task.to_feed());
  check_files();
  take(task, logits);
} catch (...) {
  task.fail(std::current_exception());
}

}  // namespace pippin::scheduling
