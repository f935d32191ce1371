#include "pippin/runtime/stateful/sequence.h"

#include <algorithm>
#include <exception>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/stateful.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin::runtime {
namespace {

// Marks of a saved sequence; the number of tokens that see each other follows.
constexpr uint32_t kShort = 1, kLong = 2, kPromptShift = 2;

}  // namespace

StatefulSequence::StatefulSequence(const std::shared_ptr<StatefulModel>& model)
    : Sequence(model), family_(*model), state_(model->new_state()) {
  if (model->prediction_width() > 0) prediction_.emplace(*model);
}

void StatefulSequence::start_together(StepRunner& runner, std::span<Sequence* const> sequences,
                                      std::span<const size_t> lanes, bool with_rows) {
  runner.reserve_lanes(lanes.back() + 1);
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto& one = static_cast<StatefulSequence&>(*sequences[i]);
    one.done_ = one.position();
    runner.use_adapters(one.adapters());
    if (with_rows) {
      runner.put_rows({&one.fed().back(), 1}, one.position(), one.row_inputs(one.position(), 1),
                      one.state_, lanes[i]);
      continue;
    }
    runner.put_ids({&one.fed().back(), 1}, one.position(), 1, one.state_, lanes[i]);
  }
  check_cancel();
  runner.run_together(lanes);
}

void StatefulSequence::finish_together(StepRunner& runner, std::span<Sequence* const> sequences,
                                       std::span<const size_t> lanes, bool with_rows) {
  std::exception_ptr error;
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto& one = static_cast<StatefulSequence&>(*sequences[i]);
    try {
      one.take_last(runner, runner.logit_rows(lanes[i]) - 1, lanes[i]);
      one.advance(one.position() + 1);
      if (!with_rows) one.take_states(runner, 0, 0, one.done_, lanes[i]);
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

void StatefulSequence::feed(const Feeding& feeding) {
  const auto total = std::ssize(fed());
  done_ = feeding.begin;
  const auto& rows = family_.rows();
  const bool sees_prompt = rows && rows->sight == RowForm::Sight::Prompt;
  if (sees_prompt && feeding.begin == 0) prompt_ = runs().is_empty() ? 0 : total;
  while (done_ < total) {
    check_cancel();
    // If a pass returns only the logits of its last token, each token takes its own pass.
    const bool one = feeding.rows == Rows::Every && !family_.gives_every_row();
    const int64_t end = one ? done_ + 1 : std::min(total, done_ + family_.chunk());
    if (needs_rows(done_, end)) {
      advance(run_rows(feeding, done_, total));
    } else {  // a longer run must not reach rows
      advance(run_part(feeding, done_, one || needs_rows(done_, total) ? end : total));
    }
  }
}

// Called after a run: `done` slots of the cache are filled.
void StatefulSequence::advance(int64_t done) {
  const int64_t from = family_.length_dependence().from;
  if (from > 0) (done > from ? is_long_ : was_short_) = true;
  done_ = done;
}

// Tokens that ran stay fed: their slots are filled.
int64_t StatefulSequence::give_up(int64_t before) {
  return std::max(before, done_);
}

void StatefulSequence::forget() {
  state_.reset();
  was_short_ = is_long_ = false;
  prompt_ = 0;
  if (prediction_) prediction_->forget();
}

Sequence::Earliest StatefulSequence::find_earliest() const {
  if (!family_.carried_states().empty()) {
    return {position(), "the model carries a state from each token to the next"};
  }
  if (prompt_ > 0) {
    return {std::min(prompt_, position()), "the tokens of the prompt see each other"};
  }
  if (!is_long_) return {};
  const auto& dependence = family_.length_dependence();
  constexpr const char* kReason = "a sequence of this length has other positions";
  if (dependence.every_length || was_short_) return {position(), kReason};
  return {dependence.from + 1, kReason};
}

int64_t StatefulSequence::find_droppable() const {
  const auto& dependence = family_.length_dependence();
  if (dependence.from == 0 || !family_.carried_states().empty()) return Sequence::find_droppable();
  if (position() <= dependence.from) return dependence.from - position();
  return dependence.every_length || was_short_ ? 0 : Sequence::find_droppable();
}

void StatefulSequence::copy(const Sequence& other) {
  const auto& source = static_cast<const StatefulSequence&>(other);
  // Only the rows of the tokens: others would touch the memory of the whole context.
  const auto caches = arrays(source.position());
  for (size_t i = 0; i < caches.size(); ++i) {
    state_.copy_rows(i, caches[i].filled_rows(), source.state_);
  }
  was_short_ = source.was_short_;
  is_long_ = source.is_long_;
  prompt_ = source.prompt_;
  prediction_ = source.prediction_;
}

void StatefulSequence::took_rows(int64_t begin) {
  advance(position());
  if (prediction_ && runs().is_empty()) prediction_->took_slots(fed(), begin, state_);
}

void StatefulSequence::complete_rows() {
  if (!prediction_ || !runs().is_empty()) return;
  CallContext context = CallContext::current();
  context.cancel = nullptr;  // rows are copied after a request was cancelled, too
  const ContextScope scope(context);
  prediction_->complete(fed(), state_);
}

// The states of the prediction layer are the last ones.
size_t StatefulSequence::num_saved(size_t all) const {
  const auto& states = state_.features();
  const auto own = std::count_if(states.begin(), states.end(), [](const mil::Feature& state) {
    return state.name.starts_with(families::stateful::kPredictStates);
  });
  return all - static_cast<size_t>(prediction_ ? own : 0);
}

std::optional<PredictedToken> StatefulSequence::predict_next(std::span<const int32_t> ids) {
  if (!prediction_ || !runs().is_empty()) return std::nullopt;
  return prediction_->predict(fed(), ids, state_);
}

std::vector<CacheArray> StatefulSequence::arrays(int64_t count) {
  std::vector<CacheArray> result;
  for (const mil::Feature& state : state_.features()) {
    result.push_back(cache_array(state.name, engine::state_bytes(state), state.shape,
                                 family_.cache_rows(state), count));
  }
  return result;
}

uint32_t StatefulSequence::marks() const {
  return (was_short_ ? kShort : 0) | (is_long_ ? kLong : 0) |
         static_cast<uint32_t>(prompt_) << kPromptShift;
}

void StatefulSequence::set_marks(uint32_t marks) {
  was_short_ = (marks & kShort) != 0;
  is_long_ = (marks & kLong) != 0;
  prompt_ = static_cast<int64_t>(marks >> kPromptShift);
}

// In a sequence that is long from the start, the same tokens have other positions.
int64_t StatefulSequence::row_limit() const {
  const auto& rows = family_.rows();
  // Tokens of a prompt depend on those after them.
  if (rows && rows->sight == RowForm::Sight::Prompt) return 0;
  const int64_t from = family_.length_dependence().from;
  return from > 0 ? from : Sequence::row_limit();
}

std::vector<HiddenStates> StatefulSequence::parts() const {
  std::vector<HiddenStates> result;
  for (const std::string& layer : family_.layers()) result.push_back({layer, 0, {}});
  return result;
}

// Runs some of the tokens [done, total) and returns the index of the next one.
int64_t StatefulSequence::run_part(const Feeding& feeding, int64_t done, int64_t total) {
  const int64_t least = family_.needed(done, total);
  const int64_t left = !family_.has_cache() ? 0 : least > 1 ? least : total - done;
  StatefulModel::Form* best = nullptr;
  int64_t query = 0;
  for (StatefulModel::Form& form : family_.forms()) {
    if (form.only_when_needed && least <= family_.chunk()) continue;
    const int64_t size = form.sizes.at_most(left);
    if (size > query) {
      best = &form;
      query = size;
    }
  }
  if (best == nullptr) return run_padded(feeding, done, total);
  std::optional<int64_t> row;
  if (!feeding.wants_every()) {
    row = feeding.rows == Rows::Last && done + query == total ? query - 1 : -1;
  }
  best->runner->use_adapters(adapters());
  best->runner->run_ids(
      std::span(fed()).subspan(static_cast<size_t>(done), static_cast<size_t>(query)), done, query,
      state_, row);
  take(*best->runner, feeding, 0, query - 1, done + query);
  take_states(*best->runner, 0, query - 1, done + query);
  return done + query;
}

// The function without rows has the positions of texts only.
bool StatefulSequence::needs_rows(int64_t begin, int64_t end) const {
  if (runs().is_empty()) return false;
  if (begin < prompt_) return true;
  if (family_.rows()->has_coordinates && runs().has_grid_before(end)) return true;
  const auto ids =
      std::span(fed()).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id < 0; });
}

// Runs some of the tokens [done, total), among them rows, and returns the index of the next one.
int64_t StatefulSequence::run_rows(const Feeding& feeding, int64_t done, int64_t total) {
  if (feeding.trace != nullptr) {
    fail(ErrorCode::Unsupported, "function {} has no outputs of its layers",
         families::stateful::kRows);
  }
  const bool sees_later = family_.rows()->sight != RowForm::Sight::Causal;
  int64_t query = std::min(total - done, family_.chunk());
  bool whole = false;
  if (done < prompt_) {
    query = prompt_ - done;
    whole = true;
  } else if (const RowRun* const run = runs().around(done + query); run != nullptr && sees_later) {
    whole = run->begin <= done;
    query = whole ? run->end() - done : run->begin - done;
  }
  StatefulModel::Form& form = family_.row_form(query, whole);
  query = form.sizes.at_most(query);
  if (const RowRun* const run = runs().around(done + query); run != nullptr && sees_later) {
    fail(ErrorCode::Unsupported, "the model takes {} tokens at a time, a run of rows has {}",
         form.sizes.to_string(), run->count);
  }
  const auto ids = std::span(fed()).subspan(static_cast<size_t>(done), static_cast<size_t>(query));
  form.runner->use_adapters(adapters());
  form.runner->put_rows(ids, done, row_inputs(done, query), state_, 0);
  std::optional<int64_t> row;
  if (!feeding.wants_every()) {
    row = feeding.rows == Rows::Last && done + query == total ? query - 1 : -1;
  }
  form.runner->run(row);
  take(*form.runner, feeding, 0, query - 1, done + query);
  return done + query;
}

RowInputs StatefulSequence::row_inputs(int64_t begin, int64_t count) {
  const RowForm& form = *family_.rows();
  const auto size = static_cast<size_t>(count), width = static_cast<size_t>(form.width);
  rows_.assign(size * width, 0.0F);
  run_starts_.resize(size);
  seen_.resize(size);
  for (size_t i = 0; i < size; ++i) {
    const int64_t token = begin + static_cast<int64_t>(i);
    const RowRun* const run = runs().at(token);
    int64_t start = token, seen = token + 1;
    if (run != nullptr && form.sight == RowForm::Sight::Runs) {
      start = run->begin;
      seen = run->end();
    } else if (token < prompt_) {
      start = 0;
      seen = prompt_;
    }
    run_starts_[i] = static_cast<int32_t>(start);
    seen_[i] = static_cast<int32_t>(seen);
    if (run == nullptr) continue;
    const auto row = run->rows->values.begin() + (token - run->begin) * form.width;
    std::copy(row, row + form.width, rows_.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  if (form.has_coordinates) runs().coordinates(begin, count, coordinates_);
  return {rows_, coordinates_, run_starts_, seen_};
}

// Handles a remainder that is too short for any run, and models without a cache: feeds the last
// tokens again, or all of them and padding.
int64_t StatefulSequence::run_padded(const Feeding& feeding, int64_t done, int64_t total) {
  StatefulModel::Form* form = &family_.forms().front();
  int64_t query = family_.smallest();
  if (!family_.has_cache()) {
    query = 0;
    for (StatefulModel::Form& other : family_.forms()) {
      const int64_t size = other.sizes.at_least(total);
      if (size == 0 || (query > 0 && size >= query)) continue;
      form = &other;
      query = size;
    }
  }
  const int64_t start = family_.has_cache() ? std::max<int64_t>(total - query, 0) : 0;
  padded_.assign(fed().begin() + start, fed().begin() + total);
  padded_.resize(static_cast<size_t>(query), 0);
  std::optional<int64_t> row;
  if (!feeding.wants_every()) row = feeding.rows == Rows::Last ? total - start - 1 : -1;
  form->runner->use_adapters(adapters());
  form->runner->run_ids(padded_, start, total - start, state_, row);

  const StepSchema& schema = form->runner->schema();
  if (form->runner->logit_rows() == 1 && total - start < query && schema.output_place.empty()) {
    fail(ErrorCode::Unsupported, "'{}' has the logits after {} tokens only, there are {}",
         schema.gives_logits() ? schema.logits.front() : schema.argmax_index, query, total - start);
  }
  take(*form->runner, feeding, done - start, total - start - 1, total);
  take_states(*form->runner, done - start, total - start - 1, total);
  return total;
}

// Rows [first, last] of the run belong to new tokens, the last one to token end - 1.
void StatefulSequence::take(const StepRunner& runner, const Feeding& feeding, int64_t first,
                            int64_t last, int64_t end) {
  const bool is_end = end == std::ssize(fed());
  if (feeding.trace != nullptr) take_hidden(runner, feeding, first, last);
  const bool is_single = runner.logit_rows() == 1;
  if (feeding.rows == Rows::Last && is_end) {
    take_last(runner, is_single ? 0 : last);
  }
  if (feeding.rows != Rows::Every) return;
  for (int64_t row = first; row <= last; ++row) {
    take_row(runner, is_single ? 0 : row, next_row(feeding));
  }
}

// The hidden states of the same rows.
void StatefulSequence::take_states(const StepRunner& runner, int64_t first, int64_t last,
                                   int64_t end, size_t lane) {
  if (!prediction_ || !runs().is_empty()) return;
  const auto width = static_cast<size_t>(family_.prediction_width());
  // Those of tokens that are fed again are known.
  first += std::clamp<int64_t>(position() - (end - (last - first + 1)), 0, last - first + 1);
  if (first > last) return;
  const auto states = runner.hidden(lane).subspan(static_cast<size_t>(first) * width,
                                                  static_cast<size_t>(last - first + 1) * width);
  prediction_->took(std::span(fed()).first(static_cast<size_t>(end)), states, state_);
}

void StatefulSequence::take_last(const StepRunner& runner, int64_t row, size_t lane) {
  if (last_row_ == Rows::Token && !family_.is_greedy_only()) {
    greedy_token_ = runner.most_likely(row, lane);
    if (greedy_token_) return;
  }
  if (last_row_ == Rows::Top) {
    static_assert(int64_t{engine::kLeastRanked} >= kMostLikely);
    for (const auto& [logit, id] : runner.most_likely_ones(row, lane)) {
      most_likely_.push_back({id, static_cast<double>(logit)});
    }
    if (!most_likely_.empty()) return;
  }
  take_row(runner, row, next_row(), lane);
}

void StatefulSequence::take_row(const StepRunner& runner, int64_t row, std::span<float> target,
                                size_t lane) {
  if (family_.is_greedy_only()) {
    greedy_token_ = family_.argmax().take(runner, row, target, lane);
  } else {
    runner.copy_logits(row, target.data(), lane);
  }
}

void StatefulSequence::take_hidden(const StepRunner& runner, const Feeding& feeding, int64_t first,
                                   int64_t last) {
  for (HiddenStates& layer : *feeding.trace) {
    const auto values = runner.output(layer.name);
    layer.width = std::ssize(values) / runner.logit_rows();
    const auto begin = values.begin() + first * layer.width;
    layer.rows.insert(layer.rows.end(), begin, begin + (last - first + 1) * layer.width);
  }
}

}  // namespace pippin::runtime
