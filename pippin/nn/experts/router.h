// Chooses the experts of a token and their weights: a linear layer gives every expert a score, the
// `top_k` best are chosen, and their scores become weights. Families of models differ in every
// step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/experts/router_mlp.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RouterOptions {
  int64_t features = 0;
  int64_t num_experts = 0;
  int64_t top_k = 0;
  std::string path = "gate";            // of the linear layer
  bool bias = false;                    // its own
  bool transposed = false;              // its matrix is stored as (in, out)
  std::optional<double> softcap;        // logits become softcap * tanh(logits / softcap)
  std::optional<RouterMlpOptions> mlp;  // computes the linear layer's input (ZAYA)

  // The linear layer's input: the router's input, or its RMS norm times a tensor of `features`
  // numbers and a factor.
  std::optional<NormOptions> input_norm;
  std::string input_scale;
  double input_factor = 1.0;

  // The function of the scores of all experts before the choice.
  enum class Scores {
    Plain,
    Softmax,
    Sigmoid,
    SqrtSoftplus,
    SparseMixer,  // the best two, one after the other: see sparse_mixer()
  };
  Scores scores = Scores::Softmax;
  double jitter =
      0.01;  // SparseMixer: experts that are further than 2 jitter from the best have weight 0

  // Added to the scores for the choice, not to the weights: a tensor of `num_experts` numbers, in
  // one row if `correction_row` is set. An empty name: none.
  std::string correction;
  bool correction_row = false;
  int64_t correction_rows = 1;  // only the first one is used

  // Experts are divided into groups; only those of the best `top_groups` groups can be chosen.
  int64_t groups = 1, top_groups = 1;
  enum class GroupScore { Best, SumOfTwo };
  GroupScore group_score = GroupScore::Best;
  // The scores of experts in other groups become 0, which may win against corrected scores below
  // it, not -inf.
  bool others_count_zero = false;

  // Then, for the scores of the chosen experts:
  bool softmax_chosen = false;
  bool normalized = false;       // divided by their sum
  double added_to_sum = 0;       // plus this number,
  double least_sum = 0;          // or at least this number
  std::optional<double> p_norm;  // divided by their p-norm
  bool sigmoid_chosen = false;
  double scale = 1.0;
  std::string expert_scale;  // a tensor of a factor for each expert; an empty name: none
  std::string weight_scale;  // a tensor of one factor of all weights; likewise
  // A table of integers (vocab_size, top_k) gives the experts by token id, in place of the best
  // (DeepSeek-V4's first layers). An empty name: no table.
  std::string table;
  int64_t vocab_size = 0;
  // Additional scores, of experts for every token: they take part in the normalization of weights
  // (Inkling).
  int64_t always = 0;
};

// For each token: indices of experts, int32, and their weights, both (1, q, top_k).
struct Route {
  array::Array indices, weights;
  std::optional<array::Array> always = std::nullopt;  // weights of the experts for every token
};

class Router {
 public:
  Router(const Parameters& parameters, const RouterOptions& options);

  // x is (1, q, features).
  Route operator()(const array::Array& x, LayerCarry& carry) const;

 private:
  array::Array scored(const array::Array& logits) const;
  array::Array choice(const array::Array& scores) const;
  array::Array grouped(const array::Array& scores) const;
  array::Array weighted(const array::Array& chosen) const;
  Route routed(const array::Array& logits, const LayerCarry& carry) const;
  Route looked_up(const array::Array& scores, const array::Array& indices) const;
  Route with_always(const array::Array& scores) const;
  array::Array table_rows(const LayerCarry& carry) const;
  Route sparse_mixer(const array::Array& logits) const;

  std::string path_;
  RouterOptions options_;
  Linear linear_;
  std::optional<array::Array> correction_;
  std::optional<Norm> input_norm_;
  std::optional<array::Array> input_scale_, expert_scale_, weight_scale_, table_;
  std::optional<RouterMlp> mlp_;
};

// For int32 indices (..., k) into `num` numbers: `places` (..., k, num), one-hot in the given type.
array::Array places_of(const array::Array& indices, int64_t num, mil::DataType type);

}  // namespace pippin::nn
