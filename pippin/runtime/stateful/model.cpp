#include "pippin/runtime/stateful/model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/engine/parted_device.h"
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

bool takes(const mil::FunctionDescription& function, std::string_view name) {
  return find_feature(function.inputs, name) != nullptr;
}

// The function with an input of that name, if there is one.
std::optional<StepSchema> step_with(const Functions& functions, std::string_view name) {
  for (const mil::FunctionDescription* const function : functions) {
    if (takes(*function, name)) return step_schema(*function);
  }
  return std::nullopt;
}

// Those without rows of embeddings and without previous hidden states.
Functions plain_functions(const Functions& functions) {
  Functions plain;
  for (const mil::FunctionDescription* const function : functions) {
    const bool is_plain = !takes(*function, families::stateful::kInputRows) &&
                          !takes(*function, families::stateful::kPreviousStates);
    if (is_plain) plain.push_back(function);
  }
  return plain;
}

// Those whose states a sequence has.
Functions used_functions(const Functions& functions, bool prediction) {
  Functions used;
  for (const mil::FunctionDescription* const function : functions) {
    if (prediction || !takes(*function, families::stateful::kPreviousStates)) {
      used.push_back(function);
    }
  }
  return used;
}

}  // namespace

StatefulModel::StatefulModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options,
                             const std::vector<const mil::FunctionDescription*>& functions)
    : program_(model),
      adapter_(options.adapter),
      schema_(stateful_schema(plain_functions(functions))),
      context_(options.context > 0 ? std::min(options.context, schema_.context) : schema_.context),
      chunk_(options.prefill == PrefillMode::Steps
                 ? 1
                 : std::clamp<int64_t>(options.prompt_run(preferred_run(model)), 1, context_)),
      compute_(options.compute),
      cache_type_(options.cache_type),
      row_step_(step_with(functions, families::stateful::kInputRows)),
      pool_(pool) {
  if (options.prediction) {
    predict_step_ = step_with(functions, families::stateful::kPreviousStates);
    find_prediction();
  }
  states_ = states_of(used_functions(functions, predict_step_.has_value()));
  const StepSchema& first = schema_.steps.front();
  if (const auto why = not_logits(program_, first)) {
    fail(ErrorCode::Unsupported, "not a language model: {}", *why);
  }
  if (first.num_adapters != std::ssize(options.run_adapters)) {
    fail(ErrorCode::InvalidArgument, "the program takes {} adapters, {} are given",
         first.num_adapters, options.run_adapters.size());
  }
  find_carried_states();
  const int64_t batch = chunk_;
  if (options.prompt_run(preferred_run(model)) == kPromptRun && options.prefill_chunk == 0 &&
      carried_.empty()) {
    chunk_ = engine::prompt_piece(compute_, chunk_);
  }
  smallest_ = first.query.smallest();
  // Runs of a fixed number of tokens need that much context, whatever the caller asked for.
  context_ = std::max(context_, smallest_);
  add_form(forms_, model, first, {smallest_, smallest_});
  take_stored_states();
  for (const StepSchema& step : schema_.steps) {
    const int64_t from = step.query.smallest() > smallest_ ? step.query.smallest() : smallest_ + 1;
    const int64_t limit = schema_.has_cache ? std::max(chunk_, step.query.smallest()) : context_;
    const int64_t largest = std::min(step.query.at_most(limit), context_);
    if (largest >= from) add_form(forms_, model, step, {from, largest});
  }
  find_length_dependence(model);
  find_logits();
  for (const mil::Feature& output : functions.front()->outputs) {
    if (output.name.starts_with(families::stateful::kHiddenPrefix)) layers_.push_back(output.name);
  }
  sort_by_number(layers_);
  const bool shares_passes = schema_.has_cache && smallest_ == 1;
  if (shares_passes) in_flight_ = engine::runs_in_flight(compute_);
  if (in_flight_ > 1) is_in_flight_.resize(static_cast<size_t>(in_flight_) + 1, false);
  lanes_.resize(is_in_flight_.size());
  tell({.context = context_,
        .vocab_size = vocab_size_,
        // ANEMLL's number: the context less two batches.
        .tokens_after_shift = std::max<int64_t>((context_ / batch - 2) * batch, 0),
        .capabilities = {.truncate = carried_.empty(),
                         .checkpoint = !carried_.empty(),
                         .feeds_late = !carried_.empty(),
                         .fork = true,
                         .save = true,
                         .many_sequences = true,
                         .shares_passes = shares_passes,
                         .every_row = every_row_,
                         .equal_rows = find_equal_rows(),
                         .greedy_only = is_greedy_only(),
                         .predicts = predict_step_.has_value()},
        .num_ids = embedding_rows(program_, schema_.steps.front()).value_or(0),
        .rows = find_rows(),
        .adapters = options.run_adapters});
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

void StatefulModel::find_prediction() {
  if (!predict_step_) return;
  const StepSchema& step = *predict_step_;
  const StepSchema& first = schema_.steps.front();
  const bool takes_any = step.query.is_range() || step.query.largest() == 1;
  if (!schema_.has_cache || first.query.smallest() != 1 || is_greedy_only() || !takes_any ||
      program_.metadata.user_defined.contains(families::stateful::kLengthDependentKey)) {
    predict_step_.reset();
    return;
  }
  // Declared widths of outputs are optional.
  const auto gives_states = [&](const StepSchema& one) {
    return one.hidden == families::stateful::kHiddenStates &&
           (one.hidden_width == 0 || one.hidden_width == step.previous_width);
  };
  if (step.query.smallest() != 1 || step.mask.empty() || !step.gives_logits()) {
    fail(ErrorCode::Unsupported,
         "function {} takes {} tokens at a time, mask '{}', logits '{}': one token, a mask and "
         "logits are needed",
         step.function, step.query.to_string(), step.mask,
         step.gives_logits() ? step.logits.front() : "");
  }
  std::vector<StepSchema> steps = schema_.steps;
  steps.push_back(step);
  for (const StepSchema& one : steps) {
    if (gives_states(one)) continue;
    fail(ErrorCode::Unsupported, "function {} does not give '{}' of {} elements, which {} reads",
         one.function, families::stateful::kHiddenStates, step.previous_width, step.function);
  }
}

StatefulModel::Form& StatefulModel::prediction_form(int64_t query) {
  const StepSchema& step = predict_step_.value();
  query = std::min(query, chunk_);
  for (const mil::SizeRange sizes : {mil::SizeRange{1, 1}, mil::SizeRange{2, chunk_}}) {
    const int64_t largest = predict_forms_.empty() ? 0 : predict_forms_.back().sizes.largest();
    if (query <= largest || sizes.upper <= largest) continue;
    add_form(predict_forms_, program_, step, sizes);
  }
  const auto fits = std::find_if(predict_forms_.begin(), predict_forms_.end(),
                                 [&](Form& form) { return form.sizes.at_most(query) == query; });
  return fits != predict_forms_.end() ? *fits : predict_forms_.back();
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
                             const StepSchema& step, mil::SizeRange query) {
  Form form;
  form.sizes = step.query.intersect(AxisSizes(query));
  if (form.sizes.empty()) return;
  query = {form.sizes.smallest(), form.sizes.largest()};
  form.runner =
      std::make_unique<StepRunner>(model, step, query, context_, pool_, compute_, cache_type_);
  forms.push_back(std::move(form));
}

// The states of a quantized cache are those of its plans: every function that attends to them
// stores them in this form.
void StatefulModel::take_stored_states() {
  if (cache_type_ == engine::CacheType::F16) return;
  std::vector<mil::Feature> stored = forms_.front().runner->plan().states();
  const auto& declared = program_.description(forms_.front().runner->schema().function).states;
  for (mil::Feature& state : states_) {
    const auto same = [&](const mil::Feature& other) { return other.name == state.name; };
    if (std::none_of(declared.begin(), declared.end(), same)) stored.push_back(std::move(state));
  }
  states_ = std::move(stored);
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
      add_form(row_forms_, program_, step, {limit > chunk_ ? 2 : from, limit});
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
void StatefulModel::find_length_dependence(const mil::Model& model) {
  const auto& metadata = model.metadata.user_defined;
  const auto said = metadata.find(families::stateful::kLengthDependentKey);
  if (said == metadata.end() || !schema_.has_cache) return;
  const int64_t length = trailing_number(said->second);
  if (length < 1 || length >= context_) return;
  length_ = {length, said->second.starts_with(families::stateful::kDynamic)};
  make_long_ = [this, &model] {
    const StepSchema& step = schema_.steps.back();
    const size_t known = forms_.size();
    add_form(forms_, model, step, {2, std::min(step.query.largest(), context_)});
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
  const auto feed = [&](Form& form, std::span<Sequence* const> some, bool are_rows) {
    const auto lanes = lanes_of(0, some.size());
    StatefulSequence::start_together(*form.runner, some, lanes, are_rows);
    StatefulSequence::finish_together(*form.runner, some, lanes, are_rows);
  };
  if (with_rows.empty()) return feed(forms_.front(), sequences, false);
  feed(row_form(1, true), with_rows, true);
  if (!without.empty()) feed(forms_.front(), without, false);
}

// Lanes of all steps take turns, so that a step may have any number.
std::span<const size_t> StatefulModel::lanes_of(size_t step, size_t count) {
  std::vector<size_t>& lanes = lanes_.at(step);
  lanes.reserve(count);
  while (lanes.size() < count) lanes.push_back(step + lanes.size() * lanes_.size());
  return std::span(lanes).first(count);
}

std::optional<size_t> StatefulModel::start_step(std::span<Sequence* const> sequences) {
  const auto needs_rows = [](Sequence* one) {
    return static_cast<StatefulSequence*>(one)->needs_rows();
  };
  if (std::any_of(sequences.begin(), sequences.end(), needs_rows)) return std::nullopt;
  const auto free = std::find(is_in_flight_.begin() + 1, is_in_flight_.end(), false);
  if (free == is_in_flight_.end()) return std::nullopt;
  const auto step = static_cast<size_t>(free - is_in_flight_.begin());
  StatefulSequence::start_together(*forms_.front().runner, sequences,
                                   lanes_of(step, sequences.size()), false);
  is_in_flight_[step] = true;
  return step;
}

void StatefulModel::finish_step(size_t step, std::span<Sequence* const> sequences) {
  is_in_flight_.at(step) = false;
  StatefulSequence::finish_together(*forms_.front().runner, sequences,
                                    lanes_of(step, sequences.size()), false);
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
