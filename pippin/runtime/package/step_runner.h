// Runs a step (step_schema.h): a plan for one range of sizes, with the indices of its inputs and
// outputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/runtime/package/logit_layout.h"
#include "pippin/runtime/package/step_schema.h"

namespace pippin::runtime {

// Fills a mask of `query` rows and `end` columns (at least past + query): in row i, columns [0,
// past + i] are 0 and later ones -inf.
void fill_causal_mask(std::span<float> mask, int64_t query, int64_t past, int64_t end);

// The index of the port. Throws Internal if none exists.
size_t find_port(std::span<const engine::Port> ports, const std::string& name);
// The declared shapes of a function's inputs, in the order of the plan's inputs.
std::vector<std::vector<int64_t>> declared_shapes(const engine::Plan& plan,
                                                  const mil::FunctionDescription& function);

// The further inputs of a run of a function with rows, for its q tokens.
struct RowInputs {
  std::span<const float> rows;           // [q, StepSchema::row_width], zeros where ids are tokens
  std::span<const int32_t> coordinates;  // [3, q]
  std::span<const int32_t> run_starts;   // [q]
  std::span<const int32_t> seen;         // [q]: the number of first slots that each token sees
};

class StepRunner {
 public:
  // For `query` tokens per run. `context` limits the end of a mask whose size is a range. `model`
  // and `pool` must outlive the runner.
  StepRunner(const mil::Model& model, const StepSchema& schema, mil::SizeRange query,
             int64_t context, ThreadPool& pool, const engine::ComputeOptions& compute = {},
             engine::CacheType cache_type = engine::CacheType::F16);

  // Runs over the tokens at positions [past, past + query); one of the two spans is empty. The
  // first `real` of them are tokens, the rest padding.
  void run_ids(std::span<const int32_t> ids, int64_t past, engine::State& state);
  // Returns only that row of the logits, or none if it is -1; hidden states are not affected.
  void run_ids(std::span<const int32_t> ids, int64_t past, int64_t real, engine::State& state,
               std::optional<int64_t> only_row = std::nullopt);
  void run_hidden(std::span<const float> hidden, int64_t past, engine::State& state);

  // Runs several sequences at once, in the lanes of an execution: put the tokens of each in its
  // lane, run, read by lane.
  void reserve_lanes(size_t count) { execution_.reserve_lanes(count); }
  void put_ids(std::span<const int32_t> ids, int64_t past, int64_t real, engine::State& state,
               size_t lane);
  void put_hidden(std::span<const float> hidden, int64_t past, engine::State& state, size_t lane);
  // The same as put_ids() for a function with rows, whose ids are negative (row_ids.h); inputs that
  // it does not have are ignored.
  void put_rows(std::span<const int32_t> ids, int64_t past, const RowInputs& inputs,
                engine::State& state, size_t lane);
  // The same for a function that takes hidden states of the tokens before, [q,
  // StepSchema::previous_width]. A token sees those from slot `first` on, and itself.
  void put_previous(std::span<const int32_t> ids, int64_t past, std::span<const float> previous,
                    int64_t first, engine::State& state, size_t lane);
  // Runs one lane after put_rows() or put_previous(), as run_ids() does.
  void run(std::optional<int64_t> only_row);
  // The numbers of adapters for the tokens that are put from now on; they are not copied. Empty for
  // a step without them.
  void use_adapters(std::span<const float> numbers) { adapter_numbers_ = numbers; }
  // Runs the lanes [0, count).
  void run_together(size_t count);
  // Runs these lanes.
  void run_together(std::span<const size_t> lanes) { execution_.run_together(lanes); }

  const StepSchema& schema() const { return schema_; }
  const engine::Plan& plan() const { return execution_.plan(); }

  // Outputs of the last run: rows of hidden_width() and vocab_size() numbers. Logits are in the
  // order of the tokens, whatever their layout (logit_layout.h).
  std::span<const float> hidden(size_t lane = 0) const;
  int64_t hidden_width() const;
  int64_t logit_rows(size_t lane = 0) const;  // or number of chosen tokens
  int64_t vocab_size() const;
  // Copies one row, joined from all parts.
  void copy_logits(int64_t row, float* target, size_t lane = 0) const;
  // The most likely token of a row, if the device finds it.
  std::optional<int32_t> most_likely(int64_t row, size_t lane = 0) const;
  // Some of the most likely tokens of a row with their logits, if the device finds them
  // (engine::Execution::largest_ones()).
  std::vector<engine::RankedElement> most_likely_ones(int64_t row, size_t lane = 0) const;
  // One element per part: the index within the part, and its logit if the model returns it.
  std::span<const int32_t> argmax_indices(size_t lane = 0) const {
    return execution_.int_output(argmax_index_, lane);
  }
  std::span<const float> argmax_values(size_t lane = 0) const {
    return argmax_value_ == kNone ? std::span<const float>()
                                  : execution_.float_output(argmax_value_, lane);
  }
  std::span<const float> output(const std::string& name) const;

  // Sets the shapes of the outputs without a run.
  void bind(int64_t query, int64_t past, engine::State& state, size_t lane = 0);

 private:
  void fill(int64_t query, int64_t past, int64_t real, size_t lane);
  void put_adapters(size_t lane);
  void put(size_t port, std::span<const int32_t> values, size_t lane);
  LogitLayout layout(size_t part, size_t lane) const;
  // A row of logits in one piece, if they are so.
  struct LogitRow {
    size_t begin, width;
  };
  std::optional<LogitRow> logit_row(int64_t row, size_t lane) const;
  static std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model,
                                                       const StepSchema& schema,
                                                       mil::SizeRange query, int64_t context,
                                                       const engine::ComputeOptions& compute,
                                                       engine::CacheType cache_type);

  static constexpr size_t kNone = static_cast<size_t>(-1);
  StepSchema schema_;
  engine::Execution execution_;
  size_t tokens_ = kNone, mask_ = kNone, padding_mask_ = kNone, update_mask_ = kNone,
         positions_ = kNone, first_position_ = kNone, output_place_ = kNone, rows_ = kNone,
         are_rows_ = kNone, coordinates_ = kNone, run_starts_ = kNone, previous_ = kNone,
         adapters_ = kNone;
  size_t hidden_ = kNone, argmax_index_ = kNone, argmax_value_ = kNone;
  std::vector<size_t> logits_, all_seats_;
  // Kept between runs, so that their memory is reused.
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<int64_t> queries_;  // one per lane
  std::vector<int32_t> places_;
  std::span<const float> adapter_numbers_;
};

}  // namespace pippin::runtime
