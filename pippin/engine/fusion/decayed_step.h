// The step of a recurrence whose decays belong to heads: what a pass adds to a state, and what its
// tokens read from it.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// s = exp(log_decay) * s + scales * x · keys, results = s · queries. With rates, what s lacks of x
// is added instead, at those rates. Views are of fp32 but the state, which is F32 or F16; the
// elements of the last axis of the state, x, keys and queries lie side by side.
struct DecayedViews {
  View state;                         // [groups, heads, p, n]
  View log_decay;                     // [groups, heads, tokens]
  View x;                             // [groups, heads, tokens, p]
  View keys, queries;                 // [groups, tokens, n]
  std::optional<View> rates, scales;  // [groups, heads, tokens]
};
// Emits a step that replaces the state and defines the results, [groups, heads, tokens, p], whose
// tokens lie behind one another in memory.
View emit_decayed(Builder& builder, const DecayedViews& views);

// Makes the step that computes `results`, [groups, heads, tokens, p], add skip * x to them. skip is
// [groups, heads], of fp32. False where there is no such step, x is not its own or skip no
// constant.
bool add_skip(Builder& builder, const View& results, const View& x, const View& skip);

}  // namespace pippin::engine
