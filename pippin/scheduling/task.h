// A request of the scheduler: its sequence, its progress, and the calls of its listener.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/draft/drafting.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/generation.h"
#include "pippin/runtime/text_stream.h"
#include "pippin/scheduling/prompt_cache.h"
#include "pippin/scheduling/scheduler.h"

namespace pippin::scheduling {

// Only the scheduler's thread uses it, except for cancel().
class Task final : public Job {
 public:
  Task(const runtime::Model& model, const Tokenizer& tokenizer, Request request,
       std::shared_ptr<Listener> listener);

  void cancel() noexcept override { cancel_.request(); }
  bool is_cancelled() const { return cancel_.is_requested(); }
  bool in_background() const { return in_background_; }
  const CancelToken& cancel_token() const { return cancel_; }

  // --- its sequence ---
  bool is_running() const { return lent_.sequence != nullptr; }
  runtime::Sequence& sequence() { return *lent_.sequence; }
  void begin(PromptCache::Lent lent);
  // Returns the sequence; tokens that were fed must be fed again before the request continues.
  PromptCache::Lent give_up();
  // The prompt, followed by the generated tokens.
  std::span<const int32_t> tokens() const { return tokens_; }
  // As Request::adapters.
  std::span<const float> adapters() const { return adapters_; }
  // The tokens to feed before the next token is known: the rest of the prompt, or the last token.
  // After give_up() these are all tokens.
  std::span<const int32_t> to_feed() const;
  bool is_decoding() const { return is_running() && to_feed().size() == 1 && is_read_; }
  int64_t held_blocks = 0;
  int64_t kept = 0;  // number of tokens passed to the prompt cache
  // In a step that was started and is not finished: its sequence may be in use.
  bool in_flight = false;
  uint64_t last_step = 0;  // the number of the last step that decoded it
  // Call after the sequence got tokens from the prompt cache.
  void note_cached();

  // --- its text ---
  // Reports the progress of the prompt to the listener.
  void tell_progress();
  // Whether the logits of every token of the prompt are wanted; tell_prompt() reports those of a
  // piece that begins with token `first`.
  bool wants_prompt() const { return prompt_logprobs_ >= 0 && told_ < prompt_size_; }
  void tell_prompt(int64_t first, std::span<const float> rows);
  // Returns at most `most` drafts (runtime/draft/drafting.h) to feed after the last token. Valid
  // until take() or drop_drafts().
  std::span<const int32_t> propose(int64_t most);
  // Chooses the next token, or several if drafts were fed and `logits` has all rows, and tells the
  // listener; the request may end. `seconds` is the time of the pass if it had only this sequence,
  // else 0.
  void take(std::span<const float> logits, double seconds = 0);
  // Call if a pass with drafts has failed: the last token must be fed again.
  void drop_drafts();
  int64_t prompt_tokens() const { return prompt_size_; }
  int64_t cached_tokens() const { return outcome_.cached_tokens; }
  int64_t num_drafted() const { return outcome_.drafted_tokens; }  // that were fed
  int64_t num_accepted() const { return outcome_.accepted_tokens; }
  runtime::Rows last_row() const { return generation_.last_row(); }
  int64_t num_generated() const { return std::ssize(generation_.ids()); }
  void end(runtime::StopReason reason);
  void fail(std::exception_ptr error);
  bool has_ended() const { return has_ended_; }
  bool has_failed() const { return outcome_.error != nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  void begin_drafting();
  bool take_row(std::span<const float> logits, size_t row);
  void finish() noexcept;

  CancelToken cancel_;
  std::vector<int32_t> tokens_;  // the prompt, then the generated tokens
  std::vector<std::shared_ptr<const runtime::EmbeddedRows>> rows_;  // of the prompt
  std::vector<float> adapters_;
  int64_t prompt_size_;
  int64_t prompt_logprobs_;
  bool in_background_;
  int64_t told_ = 1;  // tokens of the prompt; the first one has no logprobs
  std::shared_ptr<Listener> listener_;
  runtime::Generation generation_;
  runtime::TextStream text_;
  std::shared_ptr<runtime::Drafts> drafts_;
  std::unique_ptr<runtime::Drafting> drafting_;  // null: none
  bool is_drafting_ = false;                     // drafts_ have the prompt
  std::span<const int32_t> drafted_;             // in the current pass
  std::vector<int32_t> certain_;                 // or tokens that are certain
  bool are_certain_ = false;                     // whether drafted_ is certain
  PromptCache::Lent lent_;
  int64_t reached_ = 0;   // the most tokens of its sequence
  bool is_read_ = false;  // the prompt
  bool has_ended_ = false;
  Clock::time_point submitted_ = Clock::now();
  std::optional<Clock::time_point> begun_;
  Outcome outcome_;
};

}  // namespace pippin::scheduling
