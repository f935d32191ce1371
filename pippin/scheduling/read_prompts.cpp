// Prompts, which are read in pieces between the steps of sequences that decode.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <span>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/scheduling/loop.h"

namespace pippin::scheduling {

using runtime::StopReason;

std::shared_ptr<Task> Scheduler::Loop::next_reader() {
  for (const bool in_background : {false, true}) {
    if (in_background && !is_background_turn_) break;
    for (size_t i = 0; i < running_.size(); ++i) {
      const auto& next = running_[(next_turn_ + i) % running_.size()];
      if (next->in_background() != in_background) continue;
      if (next->has_ended() || next->is_decoding()) continue;
      next_turn_ = (next_turn_ + i + 1) % running_.size();
      return next;
    }
  }
  return nullptr;
}

void Scheduler::Loop::read_piece(double decode_seconds) {
  const std::shared_ptr<Task> task = next_reader();
  if (task == nullptr) return;
  has_moved_ = true;
  if (copy_piece(*task) || task->has_ended()) return;
  const int64_t left = std::ssize(task->to_feed());
  // In a text above this length, positions change from the first token on: its prompt is read in
  // one pass, however long that takes.
  const bool is_whole = std::ssize(task->tokens()) > task->sequence().row_layout().limit;
  const int64_t size =
      is_whole ? whole_prompt(*task, left)
               : whole_runs(*task, piece_size_.choose(most_to_read(*task, left), decode_seconds));
  // A rest is also kept before the last token: the same prompt needs to feed that one for its
  // logits.
  if (size == left && left > 1 && cache_->keeps_ends() && !is_whole) {
    if (feed_piece(*task, left - 1)) feed_piece(*task, 1);
  } else {
    feed_piece(*task, size);
  }
}

// All tokens that are left, unless the prompt's tokens see each other and generated ones follow.
int64_t Scheduler::Loop::whole_prompt(const Task& task, int64_t left) const {
  const auto& rows = model_->rows();
  const bool sees_prompt = rows && rows->sight == runtime::RowForm::Sight::Prompt;
  return sees_prompt && left > task.prompt_tokens() ? task.prompt_tokens() : left;
}

// Rows that see each other are read in one piece.
int64_t Scheduler::Loop::whole_runs(const Task& task, int64_t size) const {
  const auto& rows = model_->rows();
  if (!rows || rows->sight == runtime::RowForm::Sight::Causal) return size;
  return runtime::with_whole_rows(task.to_feed(), size);
}

// Limits the memory for logits of every token.
int64_t Scheduler::Loop::most_to_read(const Task& task, int64_t left) const {
  if (!task.wants_prompt()) return left;
  constexpr int64_t kMostLogits = int64_t{1} << 24;
  return std::clamp<int64_t>(kMostLogits / model_->vocab_size(), 1, left);
}

// Returns whether the task continues.
bool Scheduler::Loop::feed_piece(Task& task, int64_t size) {
  const auto start = std::chrono::steady_clock::now();
  const bool is_last = size == std::ssize(task.to_feed());
  const bool wants_all = task.wants_prompt();
  const int64_t first = task.sequence().position();
  try {
    const CancelScope scope(task.cancel_token());
    batch_.clear();
    batch_.add(task.sequence(), task.to_feed().first(static_cast<size_t>(size)),
               wants_all ? runtime::Rows::Every
               : is_last ? task.last_row()
                         : runtime::Rows::None);
    batch_.run();
    check_files();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) {
      task.end(StopReason::Cancelled);
    } else {
      task.fail(std::current_exception());
    }
    return false;
  } catch (...) {
    task.fail(std::current_exception());
    return false;
  }
  piece_size_.measured(size, seconds_since(start));
  counts_.prompt_tokens += static_cast<uint64_t>(size);
  if (wants_all) task.tell_prompt(first, batch_.logits(0));
  if (!task.has_ended()) task.tell_progress();
  if (task.has_ended()) return false;
  if (!is_last) {
    const bool is_end = task.to_feed().size() == 1;
    task.kept = cache_->keep(task.sequence(), task.kept, is_end);
    return true;
  }
  if (task.num_generated() == 0) cache_->count_request(task.prompt_tokens(), task.cached_tokens());
  const std::span<const float> logits = batch_.logits(0);
  const auto width = static_cast<size_t>(model_->vocab_size());
  take(task, logits.empty() ? logits : logits.last(width));
  if (!task.has_ended()) task.kept = cache_->keep(task.sequence(), task.kept);
  return !task.has_ended();
}

// Copies from the prompt cache. Returns whether that used up the step.
bool Scheduler::Loop::copy_piece(Task& task) {
  if (task.wants_prompt()) return false;
  const int64_t before = task.sequence().position();
  const bool has_more = cache_->extend(task.sequence(), task.tokens(), step_seconds_ / 2);
  if (task.sequence().position() == before) return has_more;
  task.kept = task.sequence().position();
  task.note_cached();
  task.tell_progress();
  return has_more;
}

}  // namespace pippin::scheduling
