// The parts of a recurrence, found from the update of its state, as written by
// nn/recurrent/recurrence.h.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// Products of tokens with earlier ones, weighted by the decay between them.
struct DecayedMatch {
  const mil::Var* state = nullptr;      // before the pass, [groups, heads, p, n]
  const mil::Var* log_decay = nullptr;  // [groups, heads, tokens]
  const mil::Var* x = nullptr;          // [groups, heads, tokens, p]
  const mil::Var* keys = nullptr;       // [groups, 1, tokens, n]
  const mil::Var* queries = nullptr;    // the same
  const mil::Var* column = nullptr;     // sums of log_decay over tokens, [groups, heads, tokens, 1]
  const mil::Operation* results = nullptr;
};
std::optional<DecayedMatch> match_decayed(Builder& builder, const mil::Var* update);

// For x that is the difference between values and the state's prediction (the delta rule), times a
// rate.
struct DeltaMatch {
  const mil::Var* values = nullptr;  // [groups, heads, tokens, p]
  const mil::Var* rates = nullptr;   // [groups, heads, tokens, 1]
};
std::optional<DeltaMatch> match_delta(Builder& builder, const DecayedMatch& decayed);

// A scan by doubled distances of decay and x, [1, tokens, ...].
struct LinearMatch {
  const mil::Var* state = nullptr;  // before the pass, [1, 1, ...]
  const mil::Var *decay = nullptr, *x = nullptr;
  const mil::Operation* results = nullptr;
};
std::optional<LinearMatch> match_linear(Builder& builder, const mil::Var* update);

// For a decay exp(steps * rates) and x = inputs * keys, whose results are only multiplied with
// queries and summed.
struct SelectiveMatch {
  const mil::Var* rates = nullptr;                     // [features, n]
  const mil::Var *steps = nullptr, *inputs = nullptr;  // [1, tokens, features, 1]
  const mil::Var *keys = nullptr, *queries = nullptr;  // [1, tokens, 1, n]
  const mil::Operation* results = nullptr;             // of the sum, [1, tokens, features]
};
std::optional<SelectiveMatch> match_selective(Builder& builder, const LinearMatch& linear);

}  // namespace pippin::engine
