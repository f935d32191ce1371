// Recurrences over the tokens of a pass, written without loops: the same operations for any number
// of tokens, which Core ML runs on all its devices and engines recognize as one step
// (docs/decisions/0024-recurrences-are-spelled-without-loops.md).
//
// Each takes the state of the last pass and gives the results of all tokens and the new state.
// Operations that only read the results of linear_recurrence() must be recorded before the state is
// carried on.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/dim.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Decays are computed in fp32: fp16 loses a long sum of logarithms, or a rate that is nearly 1.
inline constexpr auto kDecayType = mil::DataType::Float32;

// The factors of a recurrence's steps, "A" in the program: rate(x) for each element of a tensor of
// these dims, below 0, in fp32 whatever the type of the weights.
array::Array decay_rates(const Parameters& parameters, std::string_view tensor,
                         const std::vector<int64_t>& dims, double (*rate)(double));
// Mamba's, from "A_log": -exp(x).
array::Array decay_rates(const Parameters& parameters, const std::vector<int64_t>& dims);

// The order of the tokens of a pass, recorded once for all layers: bools (q, q).
struct TokenOrder {
  explicit TokenOrder(const mil::Dim& query);

  array::Array no_later;  // the column's token is not after the row's
  // Blocks of 2, 4, 8, ... tokens, until one holds all: true if the row is in the second half of a
  // block, the column in the first half of the same.
  std::vector<array::Array> halves;
};

// The name of the carried state.
inline constexpr const char* kRecurrentState = "recurrentState";

struct Recurred {
  array::Array results, state;
};

// s[t] = exp(log_decay[t]) * s[t - 1] + inputs[t] · keys[t]ᵀ, results[t] = s[t] · queries[t], for
// each head of each group, whose heads share keys and queries.
//
//   log_decay  (groups, heads, q), fp32, nowhere above 0
//   inputs     (groups, heads, q, p)
//   keys       (groups, q, n)
//   queries    (groups, q, n)
//   state      (groups, heads, p, n)
//
// All tokens of the pass are one chunk: products of tokens with earlier ones, weighted by their
// decay (Dao and Gu 2024, "structured state space duality").
struct DecayedProducts {
  array::Array log_decay, inputs, keys, queries;
};
Recurred decayed_products(const DecayedProducts& tokens, const array::Array& state,
                          const array::Array& no_later);

// Like decayed_products, with inputs that depend on the state (the delta rule, Yang et al. 2024):
// token t adds, for its key, the difference between its value and the state's, inputs[t] = rate[t]
// * (values[t] - exp(log_decay[t]) * s[t - 1] · keys[t]).
//
//   rate       (groups, heads, q), within [0, 1]
//
// The dependence of tokens' inputs on each other is a triangular matrix, which is inverted in
// blocks of doubled sizes. Keys have length 1.
Recurred delta_products(const DecayedProducts& tokens, const array::Array& rate,
                        const array::Array& state, const TokenOrder& order);

// s[t] = decay[t] * s[t - 1] + inputs[t], element by element; results are all s[t]. decay and
// inputs are (1, q, ...), the state (1, 1, ...). Distances double, as in Hillis and Steele's scan.
Recurred linear_recurrence(const array::Array& decay, const array::Array& inputs,
                           const array::Array& state);

}  // namespace pippin::nn
