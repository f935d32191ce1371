// A request of the scheduler: its sequence, how far it is, and what its listener is told.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/base/cancel.h"
#include "pippin/runtime/draft/drafting.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/generation.h"
#include "pippin/runtime/text_stream.h"
#include "pippin/serve/prompt_cache.h"
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
  bool is_running() const { return lent_.sequence != nullptr; }
  runtime::Sequence& sequence() { return *lent_.sequence; }
  void begin(PromptCache::Lent lent);
  // Gives the sequence up; what was fed is to be fed again, before it goes on.
  PromptCache::Lent give_up();
  // The prompt, and what was generated.
  std::span<const int32_t> tokens() const { return tokens_; }
  // What is still to be fed before the next token is known: the rest of the prompt, or the last
  // token. After give_up() that is all there is.
  std::span<const int32_t> to_feed() const;
  bool is_decoding() const { return is_running() && to_feed().size() == 1 && is_read_; }
  int64_t held_blocks = 0;
  int64_t kept = 0;  // tokens that the prompt cache was asked to keep
  // The sequence got tokens from the prompt cache.
  void note_cached();

  // --- its text ---
  // Tells the listener how much of the prompt is read.
  void tell_progress();
  // Whether it wants the logits of every token of the prompt; of a piece of it, which begins with
  // token `first`, they are told with these.
  bool wants_prompt() const { return prompt_logprobs_ >= 0 && told_ < prompt_size_; }
  void tell_prompt(int64_t first, std::span<const float> rows);
  // At most `most` tokens that may come behind the last one: drafts (runtime/draft/drafting.h), to
  // be fed with it. Valid until take() or drop_drafts().
  std::span<const int32_t> propose(int64_t most);
  // Chooses the next token, or several where drafts were fed and logits are those of every row, and
  // tells the listener; the request may end with one. `seconds` are those of a pass of its own, or
  // 0.
  void take(std::span<const float> logits, double seconds = 0);
  // A pass with drafts has failed: the last token is to be fed again.
  void drop_drafts();
  int64_t prompt_tokens() const { return prompt_size_; }
  int64_t cached_tokens() const { return outcome_.cached_tokens; }
  int64_t num_drafted() const { return outcome_.drafted_tokens; }  // that were fed
  int64_t num_accepted() const { return outcome_.accepted_tokens; }
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
  std::vector<int32_t> tokens_;  // the prompt, and what was generated
  int64_t prompt_size_;
  int64_t prompt_logprobs_;
  int64_t told_ = 1;  // of the prompt; nothing comes before the first token
  std::shared_ptr<Listener> listener_;
  runtime::Generation generation_;
  runtime::TextStream text_;
  std::shared_ptr<runtime::Drafts> drafts_;
  std::unique_ptr<runtime::Drafting> drafting_;  // null: none
  bool is_drafting_ = false;                     // it knows the text
  std::span<const int32_t> drafted_;             // of the pass that runs
  std::vector<int32_t> certain_;                 // or what certainly comes
  bool are_certain_ = false;                     // drafted_: no guesses
  PromptCache::Lent lent_;
  int64_t reached_ = 0;   // the most tokens that its sequence had
  bool is_read_ = false;  // the prompt
  bool has_ended_ = false;
  Clock::time_point submitted_ = Clock::now();
  std::optional<Clock::time_point> begun_;
  Outcome outcome_;
};

}  // namespace pippin::serve
