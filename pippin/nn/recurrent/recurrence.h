// Recurrences over the tokens of a pass, spelled without loops: whatever the number of tokens is,
// the same operations, which Core ML runs on all its devices and engines recognise as one step
// (docs/decisions/0024-recurrences-are-spelled-without-loops.md).
//
// Each takes what the last pass left and gives the results of all tokens and what this pass leaves.
// What reads the results of linear_recurrence() alone is recorded before the state is carried on.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/dim.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Decays are computed in fp32: in fp16 nothing is left of a long sum of logarithms, or of a rate
// that is nearly 1.
inline constexpr auto kDecayType = mil::DataType::Float32;

// What a recurrence's steps are multiplied with, "A" in the program: rate(x) for each element of a
// tensor of these dims, below 0, in fp32 whatever the weights are in.
array::Array decay_rates(const Parameters& parameters, std::string_view tensor,
                         const std::vector<int64_t>& dims, double (*rate)(double));
// Mamba's, of "A_log": -exp(x).
array::Array decay_rates(const Parameters& parameters, const std::vector<int64_t>& dims);

// How the tokens of a pass lie to one another, recorded once for all layers: bools (q, q).
struct TokenOrder {
  explicit TokenOrder(const mil::Dim& query);

  array::Array no_later;  // the column's token comes no later than the row's
  // Blocks of 2, 4, 8, ... tokens, until one holds all: the row lies in the second half of a block,
  // the column in the first half of the same.
  std::vector<array::Array> halves;
};

// The name of the state that one carries.
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
// All tokens of the pass are one chunk: products of tokens with those before them, weighted by how
// much of them has decayed (Dao and Gu 2024, "structured state space duality").
struct DecayedProducts {
  array::Array log_decay, inputs, keys, queries;
};
Recurred decayed_products(const DecayedProducts& tokens, const array::Array& state,
                          const array::Array& no_later);

// As decayed_products, with inputs that depend on the state (the delta rule, Yang et al. 2024):
// what token t adds for its key is what its input lacks of it, inputs[t] = rate[t] * (values[t] -
// exp(log_decay[t]) * s[t - 1] · keys[t]).
//
//   rate       (groups, heads, q), within [0, 1]
//
// What tokens take from each other's inputs is a triangle, which is inverted in blocks of doubled
// sizes. Keys are of length 1.
Recurred delta_products(const DecayedProducts& tokens, const array::Array& rate,
                        const array::Array& state, const TokenOrder& order);

// s[t] = decay[t] * s[t - 1] + inputs[t], element by element; results are all s[t]. decay and
// inputs are (1, q, ...), the state (1, 1, ...). Distances double, as in Hillis and Steele's scan.
Recurred linear_recurrence(const array::Array& decay, const array::Array& inputs,
                           const array::Array& state);

}  // namespace pippin::nn
