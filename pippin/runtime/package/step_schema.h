// What one function of a language-model package takes and gives, told from its declaration.
//
// All families are made of such steps: a run takes q tokens, as ids or as hidden states, at
// positions that a mask, position inputs or both say, and gives hidden states, logits (whole or in
// parts) or the most likely token. Types and shapes decide what an input is; names only where two
// could be meant (docs/format.md tells the families' own).
//
//   takes   token ids, (1, q) or (q), or hidden states, float (1, q, width)
//           causal mask, float (1, 1, q, end): 0 or -inf. Where `end` is a range, a run writes the
//           slots [end - q, end) and attends to [0, end); where it is a number, positions say more
//           positions, (q) or (1, q); first position, int32 (1)
//           output place, int32 (1): the token, of those of the run, that logits are wanted after
//           update mask, float (1, 1, slots, q): 1 where a token is written
//           padding mask, (1, q): 1 for tokens, 0 for padding (packages without a cache)
//   gives   logits, float (logit_layout.h), in the order of the numbers that their names end with;
//           hidden states, float (1, rows, width); the most likely token, int32, and its logit, an
//           element per part of the vocabulary: argmax_idx and argmax_val, token_id and token_logit
//
// Ids and positions may be floats, as converters declare inputs whose types they are not told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/runtime/axis_sizes.h"

namespace pippin::runtime {

struct StepSchema {
  std::string function;
  std::string tokens;  // the ids or hidden states
  bool takes_ids = false;
  size_t tokens_rank = 2, positions_rank = 1;
  int64_t width = 0;  // of hidden states that it takes
  AxisSizes query;
  // Empty: there is none.
  std::string mask, padding_mask, update_mask, positions, first_position, output_place;
  AxisSizes end;                           // of the mask's last axis
  int64_t update_slots = 0;                // of the update mask
  std::string hidden;                      // output
  int64_t hidden_width = 0;                // 0: not declared
  int64_t hidden_rows = 0;                 // 0: not declared
  std::vector<std::string> logits;         // in order
  std::string argmax_index, argmax_value;  // the value may be missing
  bool has_states = false;

  bool gives_logits() const { return !logits.empty(); }
  bool gives_argmax() const { return !argmax_index.empty(); }
  bool says_positions() const { return !positions.empty() || !first_position.empty(); }
};

// Throws Unsupported, naming what does not fit.
StepSchema step_schema(const mil::FunctionDescription& function);

// The number at the end of a name ("logits12": 12), -1 where there is none.
int64_t trailing_number(const std::string& name);
// Sorted by that number.
void sort_by_number(std::vector<std::string>& names);

}  // namespace pippin::runtime
