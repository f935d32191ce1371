// A sequence of a StatefulModel: its tokens and the states written by its runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "pippin/runtime/stateful/prediction.h"

namespace pippin::runtime {

class StatefulSequence final : public Sequence {
 public:
  explicit StatefulSequence(const std::shared_ptr<StatefulModel>& model);
  ~StatefulSequence() override { family_.keep_state(std::move(state_)); }

  // Runs one new token of each sequence, in these lanes of a runner for one token, of the function
  // with rows or another.
  static void start_together(StepRunner& runner, std::span<Sequence* const> sequences,
                             std::span<const size_t> lanes, bool with_rows);
  // Takes the results, also of the sequences after one with an Error, which is thrown then.
  static void finish_together(StepRunner& runner, std::span<Sequence* const> sequences,
                              std::span<const size_t> lanes, bool with_rows);
  // Whether the last token needs the function with rows.
  bool needs_rows() const { return needs_rows(position(), std::ssize(fed())); }

 protected:
  void feed(const Feeding& feeding) override;
  std::vector<HiddenStates> parts() const override;
  int64_t give_up(int64_t before) override;
  void forget() override;
  Earliest find_earliest() const override;
  int64_t find_droppable() const override;
  void copy(const Sequence& other) override;
  std::vector<CacheArray> arrays(int64_t count) override;
  void read_cache(size_t index, const engine::StateRows& rows, std::byte* to,
                  uint64_t stride) override {
    state_.read_rows(index, rows, to, stride);
  }
  void write_cache(size_t index, const engine::StateRows& rows, const std::byte* from,
                   uint64_t stride) override {
    state_.write_rows(index, rows, from, stride);
  }
  uint32_t marks() const override;
  void set_marks(uint32_t marks) override;
  int64_t row_limit() const override;
  void took_rows(int64_t begin) override;
  void complete_rows() override;
  size_t num_saved(size_t all) const override;
  std::optional<PredictedToken> predict_next(std::span<const int32_t> ids) override;

 private:
  int64_t run_part(const Feeding& feeding, int64_t done, int64_t total);
  bool needs_rows(int64_t begin, int64_t end) const;
  int64_t run_rows(const Feeding& feeding, int64_t done, int64_t total);
  // The inputs of a run over tokens [begin, begin + count), valid until the next call.
  RowInputs row_inputs(int64_t begin, int64_t count);
  int64_t run_padded(const Feeding& feeding, int64_t done, int64_t total);
  void advance(int64_t done);
  void take(const StepRunner& runner, const Feeding& feeding, int64_t first, int64_t last,
            int64_t end);
  void take_states(const StepRunner& runner, int64_t first, int64_t last, int64_t end,
                   size_t lane = 0);
  void take_last(const StepRunner& runner, int64_t row, size_t lane = 0);
  void take_row(const StepRunner& runner, int64_t row, std::span<float> target, size_t lane = 0);
  void take_hidden(const StepRunner& runner, const Feeding& feeding, int64_t first, int64_t last);

  StatefulModel& family_;
  engine::State state_;
  std::vector<int32_t> padded_;
  std::vector<float> rows_;
  std::vector<int32_t> coordinates_, run_starts_, seen_;
  int64_t prompt_ = 0;  // number of first tokens that see each other: RowForm::Sight::Prompt
  int64_t done_ = 0;    // number of tokens whose slots of the cache are filled
  // For a model whose positions depend on the sequence's length: whether the first tokens have the
  // positions of a short sequence, and whether later ones have those of a long one.
  bool was_short_ = false, is_long_ = false;
  std::optional<SequencePrediction> prediction_;  // none: no layer predicts
};

}  // namespace pippin::runtime
