// Recurrences over tokens and recurrent layers. Views of fp32 except for the state, which is F32 or
// F16 and is replaced; the elements of the last axis of the state, x, keys and queries are
// adjacent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/kernels/elementwise/args.h"

namespace pippin::engine {

// s = exp(steps * rates) * s + x · keys, results = s · queries. views: results [tokens, features],
// state [features, n]; steps, x [tokens, features], rates [features, n], keys, queries [tokens, n].
struct SelectiveNode {};

// s = decay * s + x, results = s. views: results [tokens, n], state [n]; decay, x [tokens, n].
struct LinearRecurrenceNode {};

// s = exp(log_decay) * s + scales * x · keys, results = s · queries + skip * x. With rates, the
// difference between x and the state's prediction is added instead, times the rates. views: results
// [groups, heads, tokens, p], state [groups, heads, p, n]; log_decay [groups, heads, tokens], x
// like the results, keys, queries [groups, tokens, n], then, if present, rates and scales [groups,
// heads, tokens] and skip [groups, heads].
struct DecayedNode {
  bool has_rates = false, has_scales = false, has_skip = false;

  static constexpr size_t kX = 3;  // among the views
  size_t rates_view() const { return 6; }
  size_t scales_view() const { return has_rates ? 7 : 6; }
  size_t skip_view() const { return scales_view() + (has_scales ? 1 : 0); }
};

// A short convolution over a sequence: over the columns of a state and those of the new tokens, the
// last of which become the state. views: y [tokens, features], state [taps - 1, features], x
// [tokens, features], weight [taps, features], bias [features] if any.
struct CausalConvolutionNode {
  bool has_silu = false;  // applied to the results
};

// lstm, gru and rnn.
enum class Cell : uint8_t { Rnn, Gru, GruResetAfter, Lstm };

// The number of gates that the weights have rows for.
constexpr int64_t num_gates(Cell cell) {
  return cell == Cell::Lstm ? 4 : cell == Cell::Rnn ? 1 : 3;
}

struct RecurrentFunction {
  kernels::UnaryOp op = kernels::UnaryOp::Tanh;
  float alpha = 0, beta = 0;
};

// views: y [T or 1, N, width], the last h [N, width], the last c of an lstm like it, and working
// memory [directions, 3, N, hidden], all written; the first h and c; then the views that
// `directions` name. All but the weights are fp32, all without gaps.
struct RecurrentNode {
  struct Direction {
    size_t gates = 0;                      // [T * N, gates * hidden]: the inputs' part of them
    size_t weight = 0;                     // [gates * hidden, hidden], fp32, fp16 or bf16
    std::optional<size_t> bias, peephole;  // [gates * hidden], [3 * hidden]
    bool reverse = false;
    bool in_order_of_sequence = false;  // otherwise y has the order of processing
  };
  std::string name;
  Cell cell = Cell::Rnn;
  RecurrentFunction activation, gate, of_cell;
  float clip = 0;  // of c; infinite: no limit
  bool sequence = false;
  std::vector<Direction> directions;

  size_t num_written() const { return cell == Cell::Lstm ? 4 : 3; }
};

}  // namespace pippin::engine
