// A sequence's part of a prediction layer (families/stateful.h): its function computes slot i of
// its caches from token i and the hidden state of token i - 1.
//
// Slots are computed late, many at a time, because drafts may not be wanted: the hidden states of
// the tokens from slot `done_` on are kept until then.
//
//   token            0     1     2   ...  done_ - 1 | done_   ...   n - 1 | next   draft  draft
//   hidden state     h0    h1    h2  ...  h         | h       ...   h     |  p      p
//   slot             none  h0    h1  ...  computed  | not yet             | kept only if the token
//                                                                           is fed
//
// Slots before `first_seen_` are hidden from all others: slot 0, and those of tokens whose hidden
// states are unknown, as after a file was read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin::runtime {

class SequencePrediction {
 public:
  explicit SequencePrediction(StatefulModel& model) : model_(&model) {}

  void forget();
  // Hidden states of tokens that a pass has fed; `fed` ends with them. Computes slots if many are
  // missing. Throws Cancelled.
  void took(std::span<const int32_t> fed, std::span<const float> hidden, engine::State& state);
  // The slots of the tokens from `begin` on were copied from another sequence.
  void took_slots(std::span<const int32_t> fed, int64_t begin, engine::State& state);
  // Computes the slots of all tokens that were fed. Throws Cancelled.
  void complete(std::span<const int32_t> fed, engine::State& state);
  // As Sequence::predict().
  std::optional<PredictedToken> predict(std::span<const int32_t> fed, std::span<const int32_t> ids,
                                        engine::State& state);

 private:
  int64_t width() const;
  int64_t rows_end() const { return rows_begin_ + std::ssize(rows_) / width(); }
  std::span<const float> rows(int64_t begin, int64_t end) const;
  void rewind(int64_t count);
  void drop_rows();
  // Computes slots [done_, end).
  void compute(std::span<const int32_t> fed, int64_t end, engine::State& state);
  PredictedToken run(std::span<const int32_t> ids, int64_t slot, std::span<const float> previous,
                     engine::State& state);

  StatefulModel* model_;
  std::vector<float> rows_;  // hidden states of tokens
  int64_t rows_begin_ = 0;   // the first of these tokens
  int64_t last_begin_ = 0;   // the first token of the last pass, to which a sequence may return
  int64_t done_ = 1;         // the first slot that is missing
  int64_t first_seen_ = 1;   // the first slot that others see
  int64_t guessed_at_ = 0;   // the slot of the first of guessed_
  std::vector<int32_t> guessed_;      // tokens of the last predictions
  std::vector<float> guessed_state_;  // the hidden state after the last of them
};

}  // namespace pippin::runtime
