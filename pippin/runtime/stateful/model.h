// The `stateful` family: one package whose KV cache is Core ML state (Hugging Face's Mistral form).
//
//   inputs  token ids, int32 (1, q); causal mask, fp16 (1, 1, q, end), 0 or -inf
//   states  any number (keyCache, valueCache), zero at the start
//   output  logits, fp16 or fp32 (1, q, vocabulary) in any layout (logit_layout.h), of the last token
//           alone, or the most likely token, int32
//
// A run writes the cache slots [end - q, end) and attends to [0, end), so the length of the mask
// gives the tokens' position in the sequence. q may be a range, several sizes or one size; a second
// function may take other sizes (for prompts). If no run takes few enough tokens, earlier tokens
// are fed again, or masked padding is added. All ports are found by the declared schema: types and
// ranges decide, and a model that does not fit is rejected with the name of the port.
//
// A function with rows of embeddings (families/stateful.h) is planned when the first rows are fed,
// that of a prediction layer when it is first used.
//
// Packages without states (ids padded to a fixed length, or of any length, and no cache) compute
// the whole sequence for every token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/package/argmax_head.h"
#include "pippin/runtime/package/step_runner.h"
#include "pippin/runtime/package/step_schema.h"
#include "pippin/runtime/spare_states.h"
#include "pippin/runtime/steps_in_flight.h"

namespace pippin::runtime {

// The steps of a package of this family: one or two functions.
struct StatefulSchema {
  std::vector<StepSchema> steps;  // smallest query first
  int64_t context = 0;            // the largest end, or the largest query without a cache
  bool has_cache = true;
};

// Throws Unsupported for packages of other families.
StatefulSchema stateful_schema(const std::vector<const mil::FunctionDescription*>& functions);

// `model` and `pool` must outlive the result. Throws Unsupported, NotFound (the adapter).
std::shared_ptr<Model> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                           const LoadOptions& options = {});

// The plans of a package and the properties derived from its program.
class StatefulModel final : public Model, public StepsInFlight {
 public:
  StatefulModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options,
                const std::vector<const mil::FunctionDescription*>& functions);

  // A plan and the numbers of tokens that it takes.
  struct Form {
    std::unique_ptr<StepRunner> runner;
    AxisSizes sizes;
    bool only_when_needed = false;  // longer than prompt runs usually are
  };
  // A model whose positions depend on the whole sequence's length, according to its metadata.
  struct LengthDependence {
    int64_t from = 0;           // longer sequences differ; 0: no dependence
    bool every_length = false;  // every length differs from the others
  };

  bool has_cache() const { return schema_.has_cache; }
  int64_t chunk() const { return chunk_; }
  int64_t smallest() const { return smallest_; }                      // least tokens per run
  std::vector<Form>& forms() { return forms_; }                       // smallest first
  const std::vector<std::string>& layers() const { return layers_; }  // outputs for checks only
  const LengthDependence& length_dependence() const { return length_; }
  const std::string& carried_states() const { return carried_; }
  bool gives_every_row() const { return every_row_; }
  bool is_greedy_only() const { return !schema_.steps.front().gives_logits(); }
  const ArgmaxHead& argmax() const { return argmax_; }  // of a greedy-only model
  bool is_carried(std::string_view state) const;
  // The number of tokens that a state has rows for; 0: it has no rows.
  int64_t cache_rows(const mil::Feature& state) const;
  engine::State new_state() { return spare_states_.take(states_, compute_); }
  void keep_state(engine::State&& state) noexcept { spare_states_.keep(std::move(state)); }

  // The fewest tokens of the next run of a prompt that ends at `total`.
  int64_t needed(int64_t done, int64_t total);
  // A plan of the function with rows, which takes the largest possible number of tokens that is at
  // most `query`, or that many if `whole`. Throws Unsupported if none does.
  Form& row_form(int64_t query, bool whole);

  // Elements of the hidden states that the prediction layer reads; 0: the model has none, or it is
  // not used.
  int64_t prediction_width() const { return predict_step_ ? predict_step_->previous_width : 0; }
  // A plan of the prediction layer that takes that many tokens, or as many of them as possible.
  Form& prediction_form(int64_t query);

  int64_t most_in_flight() const override { return in_flight_; }
  std::optional<size_t> start_step(std::span<Sequence* const> sequences) override;
  void finish_step(size_t step, std::span<Sequence* const> sequences) override;

 protected:
  std::unique_ptr<Sequence> make_sequence() override;
  void feed_together(std::span<Sequence* const> sequences) override;
  uint64_t count_saved_bytes() const override;
  void add_to(Digest& digest) override;

 private:
  void add_form(std::vector<Form>& forms, const mil::Model& model, const StepSchema& step,
                mil::SizeRange query);
  void take_stored_states();
  std::optional<RowForm> find_rows() const;
  // Drops the prediction layer where it cannot be used.
  void find_prediction();
  // Finds the sizes of the logits, or of the vocabulary that the model chooses from.
  void find_logits();
  void find_length_dependence(const mil::Model& model);
  void find_carried_states();
  int64_t find_equal_rows() const;
  // The lanes of a pass over that many sequences. Those of a step in flight are its own.
  std::span<const size_t> lanes_of(size_t step, size_t count);

  const mil::Model& program_;
  std::string adapter_;
  StatefulSchema schema_;
  int64_t context_, chunk_;
  engine::ComputeOptions compute_;
  engine::CacheType cache_type_;
  std::vector<mil::Feature> states_;  // as they are stored
  SpareStates spare_states_;
  int64_t smallest_ = 1;
  std::vector<Form> forms_;
  std::vector<std::string> layers_;
  LengthDependence length_;
  ArgmaxHead argmax_;
  int64_t vocab_size_ = 0;
  bool every_row_ = true;
  std::string carried_;              // states that prevent dropping tokens
  std::function<void()> make_long_;  // adds the form for long prompts on first use
  std::optional<StepSchema> row_step_;
  std::vector<Form> row_forms_;  // of row_step_, made on first use, smallest first
  std::optional<StepSchema> predict_step_;
  std::vector<Form> predict_forms_;  // likewise
  ThreadPool& pool_;
  int64_t in_flight_ = 1;
  // By step: 0 is the one that ends before others begin; steps that can be in flight follow.
  std::vector<bool> is_in_flight_ = {false};
  std::vector<std::vector<size_t>> lanes_;
};

}  // namespace pippin::runtime
