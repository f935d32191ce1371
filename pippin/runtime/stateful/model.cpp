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

}  // namespace

StatefulModel::StatefulModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options,
                             const std::vector<const mil::FunctionDescription*>& functions)
    : program_(model),
      adapter_(options.adapter),
      schema_(stateful_schema(functions)),
      context_(options.context > 0 ? std::min(options.context, schema_.context) : schema_.context),
      chunk_(options.prefill == PrefillMode::Steps
                 ? 1
                 : std::clamp<int64_t>(options.prompt_run(preferred_run(model)), 1, context_)),
      compute_(options.compute),
      states_(states_of(functions)) {
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
                         .fork = true,
                         .save = true,
                         .many_sequences = true,
                         .shares_passes = schema_.has_cache && smallest_ == 1,
                         .every_row = every_row_,
                         .greedy_only = is_greedy_only()},
        .num_ids = embedding_rows(program_, schema_.steps.front()).value_or(0)});
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

void StatefulModel::add_form(const mil::Model& model, const StepSchema& step, mil::SizeRange query,
                             ThreadPool& pool) {
  Form form;
  form.sizes = step.query.intersect(AxisSizes(query));
  if (form.sizes.empty()) return;
  query = {form.sizes.smallest(), form.sizes.largest()};
  form.runner = std::make_unique<StepRunner>(model, step, query, context_, pool, compute_);
  forms_.push_back(std::move(form));
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
  StatefulSequence::feed_together(*forms_.front().runner, sequences);
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
