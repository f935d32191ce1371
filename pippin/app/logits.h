// A model's logits for a text.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/app/token_input.h"

namespace pippin::app {

struct Logits {
  std::vector<int32_t> ids;  // the ids fed
  int64_t vocabulary = 0;
  std::vector<float> values;  // [ids, vocabulary]
  double seconds = 0;

  int64_t next_id() const;  // the most likely next id
};

// Computes them all at once or, with `steps`, token by token through the cache. Throws as
// open_with_tokens(); InvalidArgument without tokens, Unsupported for a model without
// logits.
Logits compute_logits(const ModelChoice& choice, const TokenInput& tokens, bool steps = false);

}  // namespace pippin::app
