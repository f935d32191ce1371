#include "pippin/generate/stateful_model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/generate/functions.h"
#include "pippin/generate/step_runner.h"

namespace pippin::generate {
namespace {

// A plan and the numbers of tokens that it takes.
struct Form {
  std::unique_ptr<StepRunner> runner;
  AxisSizes sizes;
  bool only_when_needed = false;  // longer than runs over a prompt usually are
};

// Those that any of the functions has; that equal names mean equal shapes is checked when they are
// bound.
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

// What the sequences of a model share: its plans, and what follows from the program.
struct StatefulShared {
  StatefulShared(const mil::Model& model, ThreadPool& pool, const StatefulOptions& options,
                 const std::vector<const mil::FunctionDescription*>& functions)
      : schema(stateful_schema(functions)),
        context(options.context > 0 ? std::min(options.context, schema.context) : schema.context),
        chunk(std::clamp<int64_t>(options.prefill_chunk, 1, context)),
        compute(options.compute),
        states(states_of(functions)) {
    const StepSchema& first = schema.steps.front();
    smallest = first.query.smallest();
    // A fixed number of tokens needs its room, whatever was asked for.
    context = std::max(context, smallest);
    add_form(model, first, {smallest, smallest}, pool);
    for (const StepSchema& step : schema.steps) {
      const int64_t from = step.query.smallest() > smallest ? step.query.smallest() : smallest + 1;
      const int64_t limit = schema.has_cache ? std::max(chunk, step.query.smallest()) : context;
      const int64_t largest = std::min(step.query.at_most(limit), context);
      if (largest >= from) add_form(model, step, {from, largest}, pool);
    }
    find_length_dependence(model, pool);
    StepRunner& runner = *forms.front().runner;
    engine::State state(states, compute);
    runner.bind(smallest, 0, state);
    vocab_size = runner.vocab_size();
    for (const mil::Feature& output : functions.front()->outputs) {
      if (output.name.starts_with(kLayerPrefix)) layers.push_back(output.name);
    }
    sort_by_number(layers);
  }

  // Outputs that a model has for checks only.
  static constexpr std::string_view kLayerPrefix = "hidden_states_";

  void add_form(const mil::Model& model, const StepSchema& step, mil::SizeRange query,
                ThreadPool& pool) {
    Form form;
    form.sizes = step.query.intersect(AxisSizes(query));
    if (form.sizes.empty()) return;
    query = {form.sizes.smallest(), form.sizes.largest()};
    form.runner = std::make_unique<StepRunner>(model, step, query, context, pool, compute);
    forms.push_back(std::move(form));
  }

  // A model whose positions depend on the whole sequence's length (see kLengthDependentKey in
  // models/causal_lm.h) says so in its metadata: a prompt that passes that length goes in with a
  // first run that does, too, or in one.
  void find_length_dependence(const mil::Model& model, ThreadPool& pool) {
    const auto& metadata = model.metadata.user_defined;
    const auto said = metadata.find("pippin.length_dependent");
    if (said == metadata.end() || !schema.has_cache) return;
    const int64_t length = trailing_number(said->second);
    if (length < 1 || length >= context) return;
    switch_length = length;
    every_length = said->second.starts_with("dynamic");
    make_long = [this, &model, &pool] {
      const StepSchema& step = schema.steps.back();
      const size_t known = forms.size();
      add_form(model, step, {2, std::min(step.query.largest(), context)}, pool);
      if (forms.size() > known) forms.back().only_when_needed = true;
    };
  }

  // The fewest tokens of the next run of a prompt that ends at `total`.
  int64_t needed(int64_t done, int64_t total) {
    if (switch_length == 0 || done > switch_length || total <= switch_length) return 1;
    const int64_t tokens = every_length ? total - done : switch_length + 1 - done;
    if (tokens > chunk && make_long) std::exchange(make_long, nullptr)();
    return tokens;
  }

  StatefulSchema schema;
  int64_t context, chunk;
  engine::ComputeOptions compute;
  int64_t smallest = 1;
  std::vector<Form> forms;
  std::vector<mil::Feature> states;
  int64_t vocab_size = 0;
  std::vector<std::string> layers;
  int64_t switch_length = 0;  // 0: positions do not depend on the length
  bool every_length = false;
  std::function<void()> make_long;  // makes the form for long prompts, the first time
};

class StatefulModel final : public LanguageModel {
 public:
  explicit StatefulModel(std::shared_ptr<StatefulShared> shared)
      : shared_(std::move(shared)), state_(shared_->states, shared_->compute) {}

  int64_t context() const override { return shared_->context; }
  int64_t vocab_size() const override { return shared_->vocab_size; }
  int64_t position() const override { return static_cast<int64_t>(fed_.size()); }
  uint64_t saved_bytes() const override {
    return shared_->forms.front().runner->plan().saved_bytes();
  }

  std::unique_ptr<LanguageModel> new_sequence() override {
    return std::make_unique<StatefulModel>(shared_);
  }
  const void* shared() const override { return shared_.get(); }

  void decode_group(std::span<const NextToken> next,
                    std::vector<std::span<const float>>& logits) override {
    const auto sequence = [&](size_t i) { return static_cast<StatefulModel*>(next[i].sequence); };
    if (!shared_->schema.has_cache || shared_->smallest != 1) {
      for (size_t i = 0; i < next.size(); ++i)
        logits.push_back(sequence(i)->decode_kept(next[i].id));
      return;
    }
    StepRunner& runner = *shared_->forms.front().runner;
    runner.reserve_seats(next.size());
    for (size_t i = 0; i < next.size(); ++i) {
      StatefulModel& one = *sequence(i);
      runner.put_ids({&next[i].id, 1}, one.position(), 1, one.state_, i);
    }
    check_cancel();
    runner.run_together(next.size());
    for (size_t i = 0; i < next.size(); ++i) {
      StatefulModel& one = *sequence(i);
      one.fed_.push_back(next[i].id);
      one.take_row(runner, runner.logit_rows() - 1, i);
      logits.push_back(one.logits_);
    }
  }

  void reset() override {
    state_.reset();
    fed_.clear();
  }

  // As ANEMLL's: all but two batches of the context.
  int64_t kept_by_shift() const override {
    const int64_t kept = (shared_->context / shared_->chunk - 2) * shared_->chunk;
    return kept > 0 ? kept : (shared_->context + 1) / 2;
  }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    feed(
        ids,
        [&](const StepRunner& runner, int64_t /*first*/, int64_t last) {
          take_row(runner, runner.logit_rows() == 1 ? 0 : last);
        },
        /*last_only=*/true);
    return logits_;
  }
  std::span<const float> decode(int32_t id) override { return prefill({&id, 1}); }

  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    std::vector<float> rows;
    rows.reserve(ids.size() * static_cast<size_t>(shared_->vocab_size));
    feed(ids, [&](const StepRunner& runner, int64_t first, int64_t last) {
      if (runner.logit_rows() <= last) {
        fail(ErrorCode::Unsupported, "output '{}' does not have the logits of every token",
             runner.schema().logits.front());
      }
      for (int64_t row = first; row <= last; ++row) {
        take_row(runner, row);
        rows.insert(rows.end(), logits_.begin(), logits_.end());
      }
    });
    return rows;
  }

  std::vector<HiddenStates> trace(std::span<const int32_t> ids) override {
    std::vector<HiddenStates> result(shared_->layers.size());
    if (shared_->layers.empty()) return result;
    feed(ids, [&](const StepRunner& runner, int64_t first, int64_t last) {
      for (size_t i = 0; i < shared_->layers.size(); ++i) {
        const auto values = runner.output(shared_->layers[i]);
        const auto rows = static_cast<size_t>(runner.logit_rows());
        const size_t width = values.size() / rows;
        result[i].name = shared_->layers[i];
        result[i].width = static_cast<int64_t>(width);
        const auto begin = values.begin() + first * result[i].width;
        result[i].rows.insert(result[i].rows.end(), begin,
                              begin + (last - first + 1) * result[i].width);
      }
    });
    return result;
  }

 private:
  void take_row(const StepRunner& runner, int64_t row, size_t seat = 0) {
    const auto width = static_cast<size_t>(shared_->vocab_size);
    if (runner.is_whole()) {
      logits_ = runner.whole(seat).subspan(static_cast<size_t>(row) * width, width);
      return;
    }
    row_.resize(width);
    runner.copy_logits(row, row_.data(), seat);
    logits_ = row_;
  }

  // Logits that other sequences do not write over.
  std::span<const float> decode_kept(int32_t id) {
    const auto logits = decode(id);
    if (logits.data() != row_.data()) row_.assign(logits.begin(), logits.end());
    return logits_ = row_;
  }

  // Runs over the tokens; use(runner, first, last) gets the rows of a run that are new tokens'.
  // last_only: of the logits only the last token's are wanted.
  template <typename Use>
  void feed(std::span<const int32_t> ids, Use&& use, bool last_only = false) {
    check_ids(*this, ids);
    const size_t before = fed_.size();
    fed_.insert(fed_.end(), ids.begin(), ids.end());
    const auto total = static_cast<int64_t>(fed_.size());
    auto done = static_cast<int64_t>(before);
    try {
      while (done < total) {
        check_cancel();
        done = run_part(done, total, last_only, use);
      }
    } catch (...) {
      // What has run stays fed: its slots are filled.
      fed_.resize(static_cast<size_t>(done));
      throw;
    }
  }

  template <typename Use>
  int64_t run_part(int64_t done, int64_t total, bool last_only, Use&& use) {
    const std::span<const int32_t> fed = fed_;
    const int64_t least = shared_->needed(done, total);
    const int64_t left = !shared_->schema.has_cache ? 0 : least > 1 ? least : total - done;
    Form* best = nullptr;
    int64_t query = 0;
    for (Form& form : shared_->forms) {
      if (form.only_when_needed && least <= shared_->chunk) continue;
      const int64_t size = form.sizes.at_most(left);
      if (size > query) {
        best = &form;
        query = size;
      }
    }
    if (best != nullptr) {
      std::optional<int64_t> row;
      if (last_only) row = done + query == total ? query - 1 : -1;
      best->runner->run_ids(fed.subspan(static_cast<size_t>(done), static_cast<size_t>(query)),
                            done, query, state_, row);
      use(*best->runner, 0, query - 1);
      return done + query;
    }
    return run_padded(done, total, last_only, use);
  }

  // No run takes as few tokens, or there is no cache to go on from: the last tokens so far again,
  // or all of them and padding.
  template <typename Use>
  int64_t run_padded(int64_t done, int64_t total, bool last_only, Use&& use) {
    Form* form = &shared_->forms.front();
    int64_t query = shared_->smallest;
    if (!shared_->schema.has_cache) {
      query = 0;
      for (Form& other : shared_->forms) {
        const int64_t size = other.sizes.at_least(total);
        if (size == 0 || (query > 0 && size >= query)) continue;
        form = &other;
        query = size;
      }
    }
    const int64_t start = shared_->schema.has_cache ? std::max<int64_t>(total - query, 0) : 0;
    padded_.assign(fed_.begin() + start, fed_.begin() + total);
    padded_.resize(static_cast<size_t>(query), 0);
    std::optional<int64_t> row;
    if (last_only) row = total - start - 1;
    form->runner->run_ids(padded_, start, total - start, state_, row);

    if (form->runner->logit_rows() == 1 && total - start < query) {
      fail(ErrorCode::Unsupported, "'{}' has the logits after {} tokens only, there are {}",
           form->runner->schema().logits.front(), query, total - start);
    }
    use(*form->runner, done - start, total - start - 1);
    return total;
  }

  std::shared_ptr<StatefulShared> shared_;
  engine::State state_;
  std::vector<int32_t> fed_, padded_;
  std::span<const float> logits_;  // of the last token fed
  std::vector<float> row_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                                   const StatefulOptions& options) {
  const auto functions = functions_of(model, options.adapter);
  if (functions.empty()) fail_no_adapter(options.adapter, adapter_names(model));
  return std::make_unique<StatefulModel>(
      std::make_shared<StatefulShared>(model, pool, options, functions));
}

}  // namespace pippin::generate
