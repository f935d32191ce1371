#include "pippin/scheduling/task.h"

#include <algorithm>
#include <utility>

#include "pippin/base/stopwatch.h"
#include "pippin/runtime/vision_prompt.h"

namespace pippin::scheduling {

using runtime::StopReason;

Task::Task(const runtime::Model& model, const Tokenizer& tokenizer, Request request,
           std::shared_ptr<Listener> listener)
    : tokens_(std::move(request.prompt)),
      rows_(std::move(request.rows)),
      adapters_(std::move(request.adapters)),
      prompt_size_(std::ssize(tokens_)),
      prompt_logprobs_(request.prompt_logprobs),
      in_background_(request.in_background),
      listener_(std::move(listener)),
      generation_(model, request.options),
      text_(tokenizer, std::move(request.options.stop), std::move(request.options.shown_tokens)),
      drafts_(request.options.drafts),
      drafting_(runtime::begin_drafting(model, request.options)) {
  generation_.observe(tokens_);
  outcome_.prompt_tokens = prompt_size_;
}

void Task::begin(PromptCache::Lent lent) {
  lent_ = std::move(lent);
  runtime::provide_rows(sequence(), tokens_, rows_, sequence().position());
  kept = sequence().position();
  note_cached();
  if (begun_) return;
  begun_ = Clock::now();
  outcome_.queue_seconds = seconds_since(submitted_);
}

PromptCache::Lent Task::give_up() {
  is_read_ = false;
  if (is_running() && !rows_.empty()) sequence().withdraw_rows();
  return std::exchange(lent_, {});
}

// Tokens that it computed itself before a preemption do not count.
void Task::note_cached() {
  const int64_t now = std::min(sequence().position(), prompt_size_);
  outcome_.cached_tokens += std::max<int64_t>(now - reached_, 0);
  reached_ = std::max(reached_, now);
}

std::span<const int32_t> Task::to_feed() const {
  const int64_t fed = is_running() ? lent_.sequence->position() : 0;
  return std::span(tokens_).subspan(static_cast<size_t>(fed));
}

void Task::tell_progress() try {
  const int64_t done = std::min(sequence().position(), prompt_size_);
  reached_ = std::max(reached_, done);
  listener_->on_prompt(done, prompt_size_);
} catch (...) {
  fail(std::current_exception());
}

void Task::tell_prompt(int64_t first, std::span<const float> rows) try {
  const auto width = static_cast<size_t>(sequence().model().vocab_size());
  std::vector<PromptLogprobs> told;
  for (int64_t row = told_ - 1 - first; told_ < prompt_size_; ++row, ++told_) {
    const size_t begin = static_cast<size_t>(row) * width;
    if (begin + width > rows.size()) break;
    const auto logits = rows.subspan(begin, width);
    const int32_t id = tokens_[static_cast<size_t>(told_)];
    const float own = logits[static_cast<size_t>(id)];
    const auto above =
        std::count_if(logits.begin(), logits.end(), [&](float logit) { return logit > own; });
    told.push_back({runtime::logprobs_of(logits, id, prompt_logprobs_), above + 1});
  }
  listener_->on_prompt_logprobs(told);
} catch (...) {
  fail(std::current_exception());
}

// Indexing a long prompt for lookups takes longer than a step of a small model: the first token
// does not wait for it, and requests that share their steps go without.
void Task::begin_drafting() {
  if (drafting_ == nullptr || is_drafting_) return;
  is_drafting_ = true;
  const auto prompt = static_cast<size_t>(prompt_size_);
  drafting_->observe(std::span(tokens_).first(prompt));
  drafting_->observe(std::span(tokens_).subspan(prompt));
}

std::span<const int32_t> Task::propose(int64_t most) {
  begin_drafting();
  const auto certain = generation_.certain();
  are_certain_ = !certain.empty();
  if (drafting_ == nullptr && !are_certain_) return {};
  most = std::min(most, runtime::most_drafts(sequence(), generation_.left()));
  if (!are_certain_) {
    drafting_->attach(sequence());
    return drafted_ = drafting_->propose(most);
  }
  if (drafting_ != nullptr) drafting_->propose(0);
  // A copy, because choosing changes them.
  const auto count = static_cast<size_t>(std::min<int64_t>(most, std::ssize(certain)));
  certain_.assign(certain.begin(), certain.begin() + static_cast<std::ptrdiff_t>(count));
  return drafted_ = certain_;
}

void Task::drop_drafts() {
  if (drafted_.empty()) return;
  drafted_ = {};
  if (drafting_ != nullptr) drafting_->propose(0);
  runtime::drop_behind(sequence(), std::ssize(tokens_) - 1);
}

void Task::take(std::span<const float> logits, double seconds) try {
  if (!is_read_ && generation_.ids().empty()) outcome_.prompt_seconds = seconds_since(*begun_);
  is_read_ = true;
  const auto width = static_cast<size_t>(sequence().model().vocab_size());
  const size_t known = tokens_.size();
  bool is_token = true;
  if (!are_certain_) outcome_.drafted_tokens += std::ssize(drafted_);
  for (size_t row = 0; is_token; ++row) {
    is_token = take_row(logits.empty() ? logits : logits.subspan(row * width, width), row);
    if (has_ended_ || row == drafted_.size() || tokens_.back() != drafted_[row]) break;
  }
  // The last chosen token is not fed yet; if an end token follows, all chosen tokens stay.
  if (!drafted_.empty()) {
    runtime::drop_behind(sequence(), std::ssize(tokens_) - (is_token ? 1 : 0));
  }
  drafted_ = {};
  if (is_drafting_) {
    drafting_->took(std::span(tokens_).subspan(known), are_certain_ ? 0 : seconds);
  }
  are_certain_ = false;
} catch (...) {
  fail(std::current_exception());
}

// Returns false if no token follows: the text has ended after the last one.
bool Task::take_row(std::span<const float> logits, size_t row) {
  if (is_cancelled()) return end(StopReason::Cancelled), false;
  if (generation_.is_complete()) return end(StopReason::MaxTokens), false;  // no more are wanted
  if (!generation_.choose(sequence(), logits)) return end(StopReason::EndOfText), false;
  const int32_t id = generation_.ids().back();
  tokens_.push_back(id);
  if (!are_certain_ && row < drafted_.size() && drafted_[row] == id) ++outcome_.accepted_tokens;
  if (generation_.ids().size() == 1) outcome_.first_token_seconds = seconds_since(submitted_);
  const std::string piece = text_.push(id);
  const auto& logprobs = generation_.logprobs();
  if (!listener_->on_token({id, piece, logprobs.empty() ? nullptr : &logprobs.back()})) {
    end(StopReason::Callback);
  } else if (text_.is_stopped()) {
    end(StopReason::StopString);
  } else if (generation_.must_end()) {
    end(StopReason::EndOfText);
  } else if (generation_.is_complete()) {
    end(StopReason::MaxTokens);
  } else if (std::ssize(tokens_) > sequence().model().context()) {
    end(StopReason::ContextFull);
  }
  return true;
}

void Task::end(StopReason reason) {
  outcome_.reason = reason;
  finish();
}

void Task::fail(std::exception_ptr error) {
  outcome_.error = std::move(error);
  finish();
}

// Exceptions of the listener have no receiver any more.
void Task::finish() noexcept {
  if (has_ended_) return;
  has_ended_ = true;
  outcome_.generated_tokens = num_generated();
  outcome_.total_seconds = seconds_since(submitted_);
  try {
    if (drafting_ != nullptr) drafts_->keep(generation_.ids());
    // A listener that stopped the text does not want the text held back.
    const bool wants_rest = outcome_.error == nullptr && outcome_.reason != StopReason::Callback;
    const std::string rest = wants_rest ? text_.finish() : std::string();
    if (text_.is_stopped() && outcome_.error == nullptr) {
      outcome_.reason = StopReason::StopString;
      outcome_.stop_string = text_.stop_string();
    }
    listener_->on_end(outcome_, rest);
  } catch (...) {
  }
}

}  // namespace pippin::scheduling
