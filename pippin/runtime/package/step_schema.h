// The inputs and outputs of one function of a language-model package, found by its declaration.
//
// All families are made of such steps: a run takes q tokens, as ids or as hidden states, at
// positions given by a mask, by position inputs or by both. It returns hidden states, logits (whole
// or in parts) or the most likely token. Inputs are identified by type and shape, and by name only
// if these are ambiguous (docs/format.md lists the families' own names).
//
//   inputs  token ids, (1, q) or (q), or hidden states, float (1, q, width)
//           causal mask, float (1, 1, q, end): 0 or -inf. If `end` is a range, a run writes the
//           slots [end - q, end) and attends to [0, end); else positions are inputs
//           positions, (q) or (1, q); first position, int32 (1)
//           output place, int32 (1): the index of the run's token whose logits are wanted
//           update mask, float (1, 1, slots, q): 1 where a token is written
//           rows of embeddings, float (1, q, width), next to ids, and which of the two counts, float
//           (1, q, 1); then also positions in three coordinates, int32 (3, q), and starts of runs,
//           int32 (q) (families/stateful.h)
//           hidden states of the tokens before, float (1, q, width), next to ids, found by its name
//           numbers of adapters, float (adapters) (families/stateful.h)
//           padding mask, (1, q): 1 for tokens, 0 for padding (packages without a cache)
//   outputs logits, float (logit_layout.h), ordered by the numbers that their names end with;
//           hidden states, float (1, rows, width); the most likely token, int32, and its logit, one
//           element per part of the vocabulary: argmax_idx and argmax_val, token_id and token_logit
//
// Ids and positions may be floats: converters declare inputs of unknown type so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/runtime/axis_sizes.h"

namespace pippin::runtime {

struct StepSchema {
  std::string function;
  std::string tokens;  // the input with ids or hidden states
  bool takes_ids = false;
  size_t tokens_rank = 2, positions_rank = 1;
  int64_t width = 0;  // of the hidden states it takes
  AxisSizes query;
  // Empty: absent.
  std::string mask, padding_mask, update_mask, positions, first_position, output_place;
  std::string rows, are_rows, coordinates, run_starts;
  int64_t row_width = 0;  // of the rows of embeddings
  std::string previous;   // hidden states of the tokens before
  int64_t previous_width = 0;
  std::string adapters;  // how much of each adapter's change is added (families/stateful.h)
  int64_t num_adapters = 0;
  AxisSizes end;                           // of the mask's last axis
  int64_t update_slots = 0;                // of the update mask
  std::string hidden;                      // output
  int64_t hidden_width = 0;                // 0: not declared
  int64_t hidden_rows = 0;                 // 0: not declared
  std::vector<std::string> logits;         // sorted by number
  std::string argmax_index, argmax_value;  // the value may be absent
  bool has_states = false;

  bool gives_logits() const { return !logits.empty(); }
  bool gives_argmax() const { return !argmax_index.empty(); }
  bool says_positions() const { return !positions.empty() || !first_position.empty(); }
};

// Throws Unsupported, naming the input or output that does not fit.
StepSchema step_schema(const mil::FunctionDescription& function);

// The number at the end of a name ("logits12": 12); -1 if none exists.
int64_t trailing_number(const std::string& name);
// Sorted by that number.
void sort_by_number(std::vector<std::string>& names);

}  // namespace pippin::runtime
