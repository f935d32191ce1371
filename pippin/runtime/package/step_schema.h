// What one function of a language-model package takes and gives, told from its declaration.
//
// All families are made of such steps: a run takes q tokens, as ids or as hidden states, at
// positions that a mask, position inputs or both say, and gives hidden states, logits (whole or in
// parts) or the most likely token. Types and shapes decide what an input is; names only where two
// could be meant (docs/format.md tells the families' own).
//
//   takes   token ids, int32 (1, q), or hidden states, float (1, q, width)
//           causal mask, float (1, 1, q, end): 0 or -inf. Where `end` is a range, a run writes the
//           slots [end - q, end) and attends to [0, end); where it is a number, positions say more
//           positions, int32 (q); first position, int32 (1)
//           update mask, float (1, 1, slots, q): 1 where a token is written
//           padding mask, (1, q): 1 for tokens, 0 for padding (packages without a cache)
//   gives   logits, float (.., rows, part), in the order of the numbers that their names end with;
//           hidden states, float (1, rows, width); argmax_idx and argmax_val, an element per part
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::runtime {

// The sizes that an axis may have: some numbers, or all of a range.
class AxisSizes {
 public:
  AxisSizes() = default;
  explicit AxisSizes(mil::SizeRange range) : range_(range) {}
  explicit AxisSizes(std::vector<int64_t> sizes);
  // Of a declared array's axis, whatever form the declaration has.
  static AxisSizes of(const mil::Feature& feature, size_t axis);

  bool is_range() const { return sizes_.empty() && range_.upper > range_.lower; }
  int64_t smallest() const { return sizes_.empty() ? range_.lower : sizes_.front(); }
  int64_t largest() const { return sizes_.empty() ? range_.upper : sizes_.back(); }
  bool contains(int64_t size) const { return at_most(size) == size; }
  // The largest one that is not above `limit`; 0: there is none.
  int64_t at_most(int64_t limit) const;
  // The smallest one that is not below `limit`; 0: there is none.
  int64_t at_least(int64_t limit) const;
  AxisSizes intersect(const AxisSizes& other) const;
  bool empty() const { return sizes_.empty() && range_.upper < range_.lower; }
  std::string to_string() const;  // "1 to 512", "1 or 64"

 private:
  std::vector<int64_t> sizes_;  // sorted; empty: range_
  mil::SizeRange range_{1, 0};
};

struct StepSchema {
  std::string function;
  std::string tokens;  // the ids or hidden states
  bool takes_ids = false;
  int64_t width = 0;  // of hidden states that it takes
  AxisSizes query;
  // Empty: there is none.
  std::string mask, padding_mask, update_mask, positions, first_position;
  AxisSizes end;                    // of the mask's last axis
  int64_t update_slots = 0;         // of the update mask
  std::string hidden;               // output
  int64_t hidden_width = 0;         // 0: not declared
  int64_t hidden_rows = 0;          // 0: not declared
  std::vector<std::string> logits;  // in order
  std::string argmax_index, argmax_value;
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
