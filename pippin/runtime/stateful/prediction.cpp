#include "pippin/runtime/stateful/prediction.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/threads/cancel.h"

namespace pippin::runtime {
namespace {

PredictedToken most_likely_of(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit} - double{*best});
  return {static_cast<int32_t>(best - logits.begin()), 1 / total};
}

}  // namespace

int64_t SequencePrediction::width() const {
  return model_->prediction_width();
}

std::span<const float> SequencePrediction::rows(int64_t begin, int64_t end) const {
  return std::span(rows_).subspan(static_cast<size_t>((begin - rows_begin_) * width()),
                                  static_cast<size_t>((end - begin) * width()));
}

void SequencePrediction::forget() {
  rows_.clear();
  guessed_.clear();
  rows_begin_ = last_begin_ = guessed_at_ = 0;
  done_ = first_seen_ = 1;
}

// The sequence has `count` tokens now.
void SequencePrediction::rewind(int64_t count) {
  const int64_t known = std::clamp<int64_t>(count - rows_begin_, 0, rows_end() - rows_begin_);
  rows_.resize(static_cast<size_t>(known * width()));
  done_ = std::min(done_, std::max<int64_t>(count, 1));
  first_seen_ = std::min(first_seen_, std::max<int64_t>(count, 1));
}

// Keeps the hidden states that missing slots need, and those that the slots after a return to the
// beginning of the last pass would.
void SequencePrediction::drop_rows() {
  const int64_t needed = std::max<int64_t>(std::min(done_, last_begin_) - 1, 0);
  const int64_t dropped = std::clamp<int64_t>(needed - rows_begin_, 0, rows_end() - rows_begin_);
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(dropped * width()));
  rows_begin_ += dropped;
}

void SequencePrediction::took(std::span<const int32_t> fed, std::span<const float> hidden,
                              engine::State& state) {
  const int64_t end = std::ssize(fed), begin = end - std::ssize(hidden) / width();
  const bool is_guessed = !guessed_.empty() && guessed_at_ == begin && done_ == begin &&
                          guessed_.front() == fed[static_cast<size_t>(begin)];
  guessed_.clear();
  rewind(begin);
  if (rows_.empty() || rows_end() != begin) {
    // The hidden state before the first token is unknown. Among known slots, its slot is computed
    // as if it were zero.
    rows_.assign(static_cast<size_t>(begin > 0 ? width() : 0), 0.0F);
    rows_begin_ = std::max<int64_t>(begin - 1, 0);
    if (begin > 0 && done_ < begin) done_ = first_seen_ = begin + 1;
  }
  if (is_guessed) done_ = begin + 1;
  rows_.insert(rows_.end(), hidden.begin(), hidden.end());
  last_begin_ = begin;
  if (end - done_ >= model_->chunk()) compute(fed, end, state);
  drop_rows();
}

void SequencePrediction::took_slots(std::span<const int32_t> fed, int64_t begin,
                                    engine::State& state) {
  const int64_t end = std::ssize(fed);
  if (end == begin) return rewind(end);
  rewind(begin);
  complete(fed.first(static_cast<size_t>(begin)), state);
  if (done_ < begin) first_seen_ = begin;
  guessed_.clear();
  rows_.clear();
  rows_begin_ = last_begin_ = done_ = end;
}

void SequencePrediction::complete(std::span<const int32_t> fed, engine::State& state) {
  const int64_t end = std::ssize(fed);
  if (rows_.empty() || rows_begin_ > done_ - 1 || rows_end() < end - 1) return;
  compute(fed, end, state);
}

void SequencePrediction::compute(std::span<const int32_t> fed, int64_t end, engine::State& state) {
  while (done_ < end) {
    check_cancel();
    StatefulModel::Form& form = model_->prediction_form(end - done_);
    const int64_t query = form.sizes.at_most(end - done_);
    form.runner->put_previous(fed.subspan(static_cast<size_t>(done_), static_cast<size_t>(query)),
                              done_, rows(done_ - 1, done_ + query - 1), first_seen_, state, 0);
    form.runner->run(-1);
    done_ += query;
  }
}

// Runs the function over tokens of which only the last one's prediction is wanted.
PredictedToken SequencePrediction::run(std::span<const int32_t> ids, int64_t slot,
                                       std::span<const float> previous, engine::State& state) {
  check_cancel();
  const auto count = std::ssize(ids);
  StepRunner& runner = *model_->prediction_form(count).runner;
  runner.put_previous(ids, slot, previous, first_seen_, state, 0);
  runner.run(count - 1);
  const auto hidden = runner.hidden().last(static_cast<size_t>(width()));
  guessed_state_.assign(hidden.begin(), hidden.end());
  std::vector<float> logits(static_cast<size_t>(model_->vocab_size()));
  runner.copy_logits(count - 1, logits.data());
  return most_likely_of(logits);
}

std::optional<PredictedToken> SequencePrediction::predict(std::span<const int32_t> fed,
                                                          std::span<const int32_t> ids,
                                                          engine::State& state) {
  const auto count = std::ssize(fed), further = std::ssize(ids);
  if (count == 0 || count + further > model_->context()) return std::nullopt;
  const bool goes_on = guessed_at_ == count && further == std::ssize(guessed_) + 1 &&
                       std::equal(guessed_.begin(), guessed_.end(), ids.begin());
  PredictedToken result;
  size_t known = goes_on ? guessed_.size() : 0;
  if (known == 0) {
    guessed_.clear();
    rewind(count);
    if (rows_begin_ > done_ - 1 || rows_end() != count) return std::nullopt;
    // All slots that are missing and that of the next token, in one run if possible.
    const int64_t most = model_->prediction_form(count + 1 - done_).sizes.largest();
    compute(fed, std::max(done_, count + 1 - most), state);
    std::vector<int32_t> run_ids(fed.begin() + done_, fed.end());
    run_ids.push_back(ids.front());
    result = run(run_ids, done_, rows(done_ - 1, count), state);
    done_ = count;
    guessed_at_ = count;
    guessed_.assign(1, ids.front());
    known = 1;
  }
  for (; known < ids.size(); ++known) {
    const std::vector<float> previous = guessed_state_;
    const auto slot = count + static_cast<int64_t>(known);
    result = run(ids.subspan(known, 1), slot, previous, state);
    guessed_.push_back(ids[known]);
  }
  return result;
}

}  // namespace pippin::runtime
