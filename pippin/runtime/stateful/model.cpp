#include "pippin/runtime/stateful/model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/stateful.h"
#include "pippin/runtime/package/functions.h"
#include "pippin/runtime/package/model_digest.h"
#include "pippin/runtime/package/vocabulary.h"
#include "pippin/runtime/stateful/sequence.h"

namespace pippin::runtime {
namespace {

// The engine computes recurrences of more tokens in another order (engine/cpu/recurrence_step.cpp).
constexpr int64_t kEqualRecurrentRows = 7;

// The states of all functions. Plan binding checks that equal names have equal shapes.
std::vector<mil::Feature> states_of(const std::vector<const mil::FunctionDescription*>& functions) {
  std::vector<mil::Feature> states;
  for (const auto* function : functions) {
    for (const mil::Feature& state : function->states) {
      const auto same = [&](const mil::Feature& other) { return other.name == state.name; };
      if (std::none_of(states.begin(), states.end(), same)) states.push_back(state);
    }
  }
  return states;
}

// The package's own number for prompts (kPromptRunKey), limited.
int64_t preferred_run(const mil::Model& model) {
  constexpr int64_t kMost = 1024;
  const auto& metadata = model.metadata.user_defined;
  const auto said = metadata.find(families::stateful::kPromptRunKey);
  const int64_t tokens = said != metadata.end() ? trailing_number(said->second) : -1;
  return tokens > 0 ? std::min(tokens, kMost) : kPromptRun;
}

using Functions = std::vector<const mil::FunctionDescription*>;

// The function with rows of embeddings, if there is one, and the others.
std::pair<const mil::FunctionDescription*, Functions> split_rows(const Functions& functions) {
  const mil::FunctionDescription* rows = nullptr;
  Functions others;
  for (const mil::FunctionDescription* const function : functions) {
    const bool takes_rows = std::any_of(
        function->inputs.begin(), function->inputs.end(),
        [](const mil::Feature& input) { return input.name == families::stateful::kInputRows; });
    if (takes_rows) {
      rows = function;
    } else {
      others.push_back(function);
    }
  }
  return {rows, others};
}

std::optional<StepSchema> row_step_of(const Functions& functions) {
  const auto* const rows = split_rows(functions).first;
  return rows == nullptr ? std::nullopt : std::optional(step_schema(*rows));
}

}  // namespace

StatefulModel::StatefulModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options,
                             const std::vector<const mil::FunctionDescription*>& functions)
    : program_(model),
      adapter_(options.adapter),
      schema_(stateful_schema(split_rows(functions).second)),
      context_(options.context > 0 ? std::min(options.context, schema_.context) : schema_.context),
      chunk_(options.prefill == PrefillMode::Steps
                 ? 1
                 : std::clamp<int64_t>(options.prompt_run(preferred_run(model)), 1, context_)),
      compute_(options.compute),
      states_(states_of(functions)),
      row_step_(row_step_of(functions)),
      pool_(pool) {
  const StepSchema& first = schema_.steps.front();
  if (const auto why = not_logits(program_, first)) {
    fail(ErrorCode::Unsupported, "not a language model: {}", *why);
  }
  smallest_ = first.query.smallest();
  // Runs of a fixed number of tokens need that much context, whatever the caller asked for.
  context_ = std::max(context_, smallest_);
  add_form(model, first, {smallest_, smallest_}, pool);
  for (const StepSchema& step : schema_.steps) {
    const int64_t from = step.query.smallest() > smallest_ ? step.query.smallest() : smallest_ + 1;
    const int64_t limit = schema_.has_cache ? std::max(chunk_, step.query.smallest()) : context_;
    const int64_t largest = std::min(step.query.at_most(limit), context_);
    if (largest >= from) add_form(model, step, {from, largest}, pool);
  }
  find_length_dependence(model, pool);
  find_carried_states();
  find_logits();
  for (const mil::Feature& output : functions.front()->outputs) {
    if (output.name.starts_with(families::stateful::kHiddenPrefix)) layers_.push_back(output.name);
  }
  sort_by_number(layers_);
  tell({.context = context_,
        .vocab_size = vocab_size_,
        // ANEMLL's number: the context less two batches.
        .tokens_after_shift = std::max<int64_t>((context_ / chunk_ - 2) * chunk_, 0),
        .capabilities = {.truncate = carried_.empty(),
                         .checkpoint = !carried_.empty(),
                         .fork = true,
                         .save = true,
                         .many_sequences = true,
                         .shares_passes = schema_.has_cache && smallest_ == 1,
                         .every_row = every_row_,
                         .equal_rows = find_equal_rows(),
                         .greedy_only = is_greedy_only()},
        .num_ids = embedding_rows(program_, schema_.steps.front()).value_or(0),
        .rows = find_rows()});
}

int64_t StatefulModel::find_equal_rows() const {
  if (carried_.empty()) return Capabilities().equal_rows;
  for (const Form& form : forms_) {
    for (const std::string& state : form.runner->plan().states_outside_recurrences()) {
      if (is_carried(state)) return 1;
    }
  }
  return kEqualRecurrentRows;
}

std::optional<RowForm> StatefulModel::find_rows() const {
  // Positions that depend on the length would need runs of the whole prompt.
  if (!row_step_ || length_.from > 0 || !schema_.has_cache || is_greedy_only()) return std::nullopt;
  if (row_step_->query.smallest() != 1 || row_step_->mask.empty() || !row_step_->gives_logits()) {
    fail(ErrorCode::Unsupported,
         "function {} with rows takes {} tokens at a time, mask '{}', logits '{}': one token, a "
         "mask "
         "and logits are needed",
         row_step_->function, row_step_->query.to_string(), row_step_->mask,
         row_step_->gives_logits() ? row_step_->logits.front() : "");
  }
  RowForm form{.width = row_step_->row_width, .has_coordinates = !row_step_->coordinates.empty()};
  const auto& metadata = program_.metadata.user_defined;
  if (const auto sight = metadata.find(families::stateful::kRowSightKey); sight != metadata.end()) {
    if (sight->second == families::stateful::kSightRuns) {
      form.sight = RowForm::Sight::Runs;
    } else if (sight->second == families::stateful::kSightPrompt) {
      form.sight = RowForm::Sight::Prompt;
    } else {
      fail(ErrorCode::Unsupported, "{} '{}' is not supported (known: {}, {})", sight->first,
           sight->second, families::stateful::kSightRuns, families::stateful::kSightPrompt);
    }
  }
  const auto placeholder = metadata.find(families::stateful::kRowPlaceholderKey);
  if (placeholder != metadata.end()) {
    const int64_t id = trailing_number(placeholder->second);
    if (id >= 0 && id <= INT32_MAX) form.placeholder = static_cast<int32_t>(id);
  }
  return form;
}

void StatefulModel::find_logits() {
  const StepSchema& step = schema_.steps.front();
  if (is_greedy_only()) {
    const auto rows = embedding_rows(program_, step);
    if (!rows) {
      fail(ErrorCode::Unsupported,
           "'{}' is the most likely token, and no table says how many tokens there are",
           step.argmax_index);
    }
    argmax_ = ArgmaxHead({*rows});
  }
  engine::State state = new_state();
  for (Form& form : forms_) {
    const int64_t query = form.sizes.smallest();
    form.runner->bind(query, 0, state);
    if (is_greedy_only()) {
      vocab_size_ = argmax_.vocab_size();
      every_row_ = every_row_ && argmax_.gives_every_row(*form.runner, query);
    } else {
      if (&form == &forms_.front()) vocab_size_ = form.runner->vocab_size();
      every_row_ = every_row_ && form.runner->logit_rows() == query;
    }
  }
}

void StatefulModel::add_form(std::vector<Form>& forms, const mil::Model& model,
                             const StepSchema& step, mil::SizeRange query, int64_t context,
                             ThreadPool& pool, const engine::ComputeOptions& compute) {
  Form form;
  form.sizes = step.query.intersect(AxisSizes(query));
  if (form.sizes.empty()) return;
  query = {form.sizes.smallest(), form.sizes.largest()};
  form.runner = std::make_unique<StepRunner>(model, step, query, context, pool, compute);
  forms.push_back(std::move(form));
}

StatefulModel::Form& StatefulModel::row_form(int64_t query, bool whole) {
  const StepSchema& step = row_step_.value();
  const auto largest = [&] {
    return row_forms_.empty() ? int64_t{0} : row_forms_.back().sizes.largest();
  };
  // One token, a prompt's pieces, and then, for a run that has to be whole, any number.
  for (const int64_t limit : {int64_t{1}, chunk_, context_}) {
    if (query <= largest() || (limit > chunk_ && !whole)) break;
    const int64_t from = largest() + 1;
    if (limit >= from) {
      add_form(row_forms_, program_, step, {limit > chunk_ ? 2 : from, limit}, context_, pool_,
               compute_);
    }
  }
  Form* best = nullptr;
  for (Form& form : row_forms_) {
    const int64_t size = form.sizes.at_most(query);
    if (size > 0 && (best == nullptr || size > best->sizes.at_most(query))) best = &form;
  }
  if (best != nullptr && (!whole || best->sizes.contains(query))) return *best;
  fail(ErrorCode::Unsupported,
       "function {} takes {} tokens at a time, a run of rows that see each other has {}",
       step.function, step.query.to_string(), query);
}

// Reads kLengthDependentKey of the metadata (families/stateful.h): a prompt longer than that length
// needs a first run that also exceeds it, or a single run.
void StatefulModel::find_length_dependence(const mil::Model& model, ThreadPool& pool) {
  const auto& metadata = model.metadata.user_defined;
  const auto said = metadata.find(families::stateful::kLengthDependentKey);
  if (said == metadata.end() || !schema_.has_cache) return;
  const int64_t length = trailing_number(said->second);
  if (length < 1 || length >= context_) return;
  length_ = {length, said->second.starts_with(families::stateful::kDynamic)};
  make_long_ = [this, &model, &pool] {
    const StepSchema& step = schema_.steps.back();
    const size_t known = forms_.size();
    add_form(model, step, {2, std::min(step.query.largest(), context_)}, pool);
    if (forms_.size() > known) forms_.back().only_when_needed = true;
  };
}

// Finds the states that each run replaces: those named by the metadata (kCarriedStatesKey in
// families/stateful.h); in packages without that key, those without one row per token.
void StatefulModel::find_carried_states() {
  const auto& metadata = program_.metadata.user_defined;
  const auto said = metadata.find(families::stateful::kCarriedStatesKey);
  if (said != metadata.end()) {
    carried_ = said->second;
    return;
  }
  if (!schema_.has_cache) return;
  for (const mil::Feature& state : states_) {
    if (cache_rows(state) == 0) carried_ += (carried_.empty() ? "" : ",") + state.name;
  }
}

bool StatefulModel::is_carried(std::string_view state) const {
  return ("," + carried_ + ",").find(fmt::format(",{},", state)) != std::string::npos;
}

int64_t StatefulModel::cache_rows(const mil::Feature& state) const {
  // A size of such a state may equal the context.
  if (is_carried(state.name)) return 0;
  const auto& shape = state.shape;
  const bool has_rows = std::find(shape.begin(), shape.end(), schema_.context) != shape.end();
  return has_rows ? schema_.context : 0;
}

int64_t StatefulModel::needed(int64_t done, int64_t total) {
  if (length_.from == 0 || done > length_.from || total <= length_.from) return 1;
  const int64_t tokens = length_.every_length ? total - done : length_.from + 1 - done;
  if (tokens > chunk_ && make_long_) std::exchange(make_long_, nullptr)();
  return tokens;
}

std::unique_ptr<Sequence> StatefulModel::make_sequence() {
  return std::make_unique<StatefulSequence>(
      std::static_pointer_cast<StatefulModel>(shared_from_this()));
}

void StatefulModel::feed_together(std::span<Sequence* const> sequences) {
  if (!capabilities().shares_passes) return Model::feed_together(sequences);
  std::vector<Sequence*> with_rows, without;
  for (Sequence* const sequence : sequences) {
    const bool needs_rows = static_cast<StatefulSequence*>(sequence)->needs_rows();
    (needs_rows ? with_rows : without).push_back(sequence);
  }
  if (with_rows.empty()) {
    return StatefulSequence::feed_together(*forms_.front().runner, sequences, false);
  }
  StatefulSequence::feed_together(*row_form(1, true).runner, with_rows, true);
  if (!without.empty()) {
    StatefulSequence::feed_together(*forms_.front().runner, without, false);
  }
}

void StatefulModel::add_to(Digest& digest) {
  digest.update(as_byte_span(families::stateful::kName + (" " + adapter_)));
  add_program(digest, program_);
}

uint64_t StatefulModel::count_saved_bytes() const {
  return forms_.front().runner->plan().saved_bytes();
}

std::shared_ptr<Model> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                           const LoadOptions& options) {
  const auto functions = functions_of(model, options.adapter);
  if (functions.empty()) fail_no_adapter(options.adapter, adapter_names(model));
  return std::make_shared<StatefulModel>(model, pool, options, functions);
}

}  // namespace pippin::runtime
