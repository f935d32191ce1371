// A request of the scheduler: its sequence, how far it is, and what its listener is told.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/base/cancel.h"
#include "pippin/runtime/generation.h"
#include "pippin/runtime/text_stream.h"
#include "pippin/serve/scheduler.h"

namespace pippin::serve {

// All but cancel() is for the scheduler's thread.
class Task final : public Job {
 public:
  Task(const runtime::Model& model, const Tokenizer& tokenizer, Request request,
       std::shared_ptr<Listener> listener);

  void cancel() noexcept override { cancel_.request(); }
  bool is_cancelled() const { return cancel_.is_requested(); }
  const CancelToken& cancel_token() const { return cancel_; }

  // --- its sequence ---
  bool is_running() const { return sequence_ != nullptr; }
  runtime::Sequence& sequence() { return *sequence_; }
  void begin(std::unique_ptr<runtime::Sequence> sequence);
  // Gives the sequence up; what was fed has to be read anew.
  void preempt();
  // What is still to be fed before the next token is known: the rest of the prompt, or the last
  // token. After preempt() that is all there is.
  std::span<const int32_t> to_feed() const;
  bool is_decoding() const { return is_running() && to_feed().size() == 1 && is_read_; }
  int64_t held_blocks = 0;

  // --- its text ---
  // Tells the listener how much of the prompt is read.
  void tell_progress();
  // Chooses the next token and tells the listener; the request may end with it.
  void take(std::span<const float> logits);
  int64_t num_generated() const { return std::ssize(generation_.ids()); }
  void end(runtime::StopReason reason);
  void fail(std::exception_ptr error);
  bool has_ended() const { return has_ended_; }

 private:
  using Clock = std::chrono::steady_clock;
  void finish() noexcept;

  CancelToken cancel_;
  std::vector<int32_t> tokens_;  // the prompt, and what was generated
  int64_t prompt_size_;
  std::shared_ptr<Listener> listener_;
  runtime::Generation generation_;
  runtime::TextStream text_;
  std::unique_ptr<runtime::Sequence> sequence_;
  bool is_read_ = false;  // the prompt
  bool has_ended_ = false;
  Clock::time_point submitted_ = Clock::now();
  std::optional<Clock::time_point> begun_;
  Outcome outcome_;
};

}  // namespace pippin::serve
