#include "pippin/generate/stateful_model.h"

#include <algorithm>
#include <optional>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/plan.h"

namespace pippin::generate {
namespace {

// A plan of one shape class with the places of its inputs and output.
class Runner {
 public:
  Runner(const mil::Model& model, const StatefulSchema& schema, mil::SizeRange query,
         int64_t context, ThreadPool& pool)
      : execution_(make_plan(model, schema, query, context), pool) {
    const engine::Plan& plan = execution_.plan();
    ids_ = find(plan.inputs(), schema.ids);
    mask_ = find(plan.inputs(), schema.mask);
    logits_ = find(plan.outputs(), schema.logits);
    shapes_.resize(plan.inputs().size());
    log_debug("plan for {} to {} tokens: arena {} bytes, weights {} bytes\n{}", query.lower,
              query.upper, plan.arena_bytes(), plan.weight_bytes(), plan.describe());
  }

  // The logits of all ids.
  std::span<const float> run(std::span<const int32_t> ids, int64_t past, engine::State& state) {
    const auto query = static_cast<int64_t>(ids.size());
    bind(query, past, state);
    std::copy(ids.begin(), ids.end(), execution_.int_input(ids_).begin());
    fill_causal_mask(execution_.float_input(mask_), query, past);
    execution_.run();
    return execution_.float_output(logits_);
  }

  // The last axis of the logits.
  int64_t vocab_size(engine::State& state) {
    bind(1, 0, state);
    const std::vector<int64_t> shape = execution_.output_shape(logits_);
    return shape.empty() ? 0 : shape.back();
  }

 private:
  void bind(int64_t query, int64_t past, engine::State& state) {
    shapes_[ids_] = {1, query};
    shapes_[mask_] = {1, 1, query, past + query};
    execution_.bind(shapes_, state);
  }

  static std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model,
                                                       const StatefulSchema& schema,
                                                       mil::SizeRange query, int64_t context) {
    engine::PlanOptions options;
    const mil::SizeRange one = {1, 1};
    options.input_ranges[schema.ids] = {one, query};
    options.input_ranges[schema.mask] = {one, one, query, {query.lower, context}};
    return engine::Plan::make(model, model.default_function, options);
  }

  static size_t find(std::span<const engine::Port> ports, const std::string& name) {
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [&](const engine::Port& port) { return port.name == name; });
    if (found == ports.end()) fail(ErrorCode::Internal, "the plan has no port '{}'", name);
    return static_cast<size_t>(found - ports.begin());
  }

  engine::Execution execution_;
  size_t ids_ = 0, mask_ = 0, logits_ = 0;
  std::vector<std::vector<int64_t>> shapes_;  // kept between runs: its memory is reused
};

class StatefulModel final : public LanguageModel {
 public:
  StatefulModel(const mil::Model& model, ThreadPool& pool, const StatefulOptions& options)
      : schema_(stateful_schema(model.description(model.default_function))),
        context_(options.context > 0 ? std::min(options.context, schema_.context)
                                     : schema_.context),
        chunk_(
            std::clamp<int64_t>(options.prefill_chunk, 1, std::min(schema_.query.upper, context_))),
        decode_(model, schema_, {1, 1}, context_, pool),
        state_(model.description(model.default_function).states) {
    if (chunk_ > 1) prefill_.emplace(model, schema_, mil::SizeRange{2, chunk_}, context_, pool);
    vocab_size_ = decode_.vocab_size(state_);
  }

  int64_t context() const override { return context_; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t position() const override { return position_; }

  void reset() override {
    state_.reset();
    position_ = 0;
  }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    std::span<const float> last;
    feed(ids, [&](std::span<const float> logits) { last = logits; });
    return last.last(static_cast<size_t>(vocab_size_));
  }

  std::span<const float> decode(int32_t id) override {
    check_ids(*this, {&id, 1});
    const std::span<const float> logits = decode_.run({&id, 1}, position_, state_);
    ++position_;
    return logits;
  }

  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    std::vector<float> rows;
    rows.reserve(ids.size() * static_cast<size_t>(vocab_size_));
    feed(ids, [&](std::span<const float> logits) {
      rows.insert(rows.end(), logits.begin(), logits.end());
    });
    if (rows.size() != ids.size() * static_cast<size_t>(vocab_size_)) {
      fail(ErrorCode::Unsupported, "output '{}' does not have the logits of every token",
           schema_.logits);
    }
    return rows;
  }

 private:
  template <typename Use>
  void feed(std::span<const int32_t> ids, Use&& use) {
    check_ids(*this, ids);
    while (!ids.empty()) {
      check_cancel();
      const auto part = ids.first(std::min(ids.size(), static_cast<size_t>(chunk_)));
      Runner& runner = part.size() == 1 ? decode_ : *prefill_;
      use(runner.run(part, position_, state_));
      position_ += static_cast<int64_t>(part.size());
      ids = ids.subspan(part.size());
    }
  }

  StatefulSchema schema_;
  int64_t context_, chunk_;
  Runner decode_;
  std::optional<Runner> prefill_;
  engine::State state_;
  int64_t position_ = 0, vocab_size_ = 0;
};

}  // namespace

std::unique_ptr<LanguageModel> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                                   const StatefulOptions& options) {
  return std::make_unique<StatefulModel>(model, pool, options);
}

}  // namespace pippin::generate
