// The steps of recurrences whose decays belong to single elements: what a pass adds to a state, and
// what its tokens read from it.
#pragma once

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// All views of fp32 but the state, which is F32 or F16; the elements of the last axis lie side by
// side. Each function emits a step that replaces the state and defines the results, whose tokens
// lie behind one another in memory.

// s = exp(steps * rates) * s + x · keys, results = s · queries.
struct SelectiveViews {
  View state;          // [features, n]
  View steps, x;       // [tokens, features]
  View rates;          // [features, n]
  View keys, queries;  // [tokens, n]
};
View emit_selective(Builder& builder, const SelectiveViews& views);

// s = decay * s + x, results = s; states and tokens of any shape, as rows.
struct LinearViews {
  View state;     // [n]
  View decay, x;  // [tokens, n]
};
View emit_linear_recurrence(Builder& builder, const LinearViews& views);

}  // namespace pippin::engine
