// A step (step_schema.h) that runs: a plan of one class of sizes with the places of its inputs and
// outputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/runtime/package/logit_layout.h"
#include "pippin/runtime/package/step_schema.h"

namespace pippin::runtime {

// Row i of `query` rows sees columns [0, past + i] of `end` (at least past + query): 0 there, -inf
// after.
void fill_causal_mask(std::span<float> mask, int64_t query, int64_t past, int64_t end);

// The port's place; throws Internal where there is none.
size_t find_port(std::span<const engine::Port> ports, const std::string& name);
// The shapes of a function's inputs as they are declared, in the order of the plan's inputs.
std::vector<std::vector<int64_t>> declared_shapes(const engine::Plan& plan,
                                                  const mil::FunctionDescription& function);

class StepRunner {
 public:
  // For `query` tokens a run; `context` bounds the end of a mask that is a range. `model` and
  // `pool` must outlive it.
  StepRunner(const mil::Model& model, const StepSchema& schema, mil::SizeRange query,
             int64_t context, ThreadPool& pool, const engine::ComputeOptions& compute = {});

  // Runs over as many tokens at positions [past, past + query); one of the two is empty. The first
  // `real` of them are tokens, the others padding.
  void run_ids(std::span<const int32_t> ids, int64_t past, engine::State& state);
  // Only that row of the logits is wanted, or none where it is -1; hidden states are as they come.
  void run_ids(std::span<const int32_t> ids, int64_t past, int64_t real, engine::State& state,
               std::optional<int64_t> only_row = std::nullopt);
  void run_hidden(std::span<const float> hidden, int64_t past, engine::State& state);

  // Several sequences at once, in the lanes of an execution: put the tokens of each in its lane,
  // run them, read by lane.
  void reserve_lanes(size_t count) { execution_.reserve_lanes(count); }
  void put_ids(std::span<const int32_t> ids, int64_t past, int64_t real, engine::State& state,
               size_t lane);
  void put_hidden(std::span<const float> hidden, int64_t past, engine::State& state, size_t lane);
  // The lanes [0, count).
  void run_together(size_t count);

  const StepSchema& schema() const { return schema_; }
  const engine::Plan& plan() const { return execution_.plan(); }

  // Of the last run; rows of hidden_width() and vocab_size() numbers. Logits are in the order of
  // the tokens, whatever their layout (logit_layout.h).
  std::span<const float> hidden(size_t lane = 0) const;
  int64_t hidden_width() const;
  int64_t logit_rows() const;  // or of chosen tokens
  int64_t vocab_size() const;
  // Copies a row of all parts.
  void copy_logits(int64_t row, float* target, size_t lane = 0) const;
  // An element for each part: the index in the part and the logit there, if the model gives it.
  std::span<const int32_t> argmax_indices(size_t lane = 0) const {
    return execution_.int_output(argmax_index_, lane);
  }
  std::span<const float> argmax_values(size_t lane = 0) const {
    return argmax_value_ == kNone ? std::span<const float>()
                                  : execution_.float_output(argmax_value_, lane);
  }
  std::span<const float> output(const std::string& name) const;

  // Makes the shapes of the outputs known without a run.
  void bind(int64_t query, int64_t past, engine::State& state, size_t lane = 0);

 private:
  void fill(int64_t query, int64_t past, int64_t real, size_t lane);
  void put(size_t port, std::span<const int32_t> values, size_t lane);
  LogitLayout layout(size_t part, size_t lane) const;
  static std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model,
                                                       const StepSchema& schema,
                                                       mil::SizeRange query, int64_t context,
                                                       const engine::ComputeOptions& compute);

  static constexpr size_t kNone = static_cast<size_t>(-1);
  StepSchema schema_;
  engine::Execution execution_;
  size_t tokens_ = kNone, mask_ = kNone, padding_mask_ = kNone, update_mask_ = kNone,
         positions_ = kNone, first_position_ = kNone, output_place_ = kNone;
  size_t hidden_ = kNone, argmax_index_ = kNone, argmax_value_ = kNone;
  std::vector<size_t> logits_, all_seats_;
  // Kept between runs: their memory is reused.
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<int64_t> queries_;  // of each lane
  std::vector<int32_t> places_;
};

}  // namespace pippin::runtime
