// Which experts a token goes to, and what each of them counts: a linear layer gives every expert a
// score, the `top_k` best are chosen, and their scores become weights. The families of models
// differ in all of the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RouterOptions {
  int64_t features = 0;
  int64_t num_experts = 0;
  int64_t top_k = 0;
  std::string path = "gate";      // of the linear layer
  bool bias = false;              // its own
  bool transposed = false;        // its matrix lies as (in, out)
  std::optional<double> softcap;  // logits become softcap * tanh(logits / softcap)

  // What the linear layer gets: the input, or its RMS norm times a tensor of `features` numbers and
  // a factor.
  std::optional<NormOptions> input_norm;
  std::string input_scale;
  double input_factor = 1.0;

  // What is made of the scores of all experts before some are chosen.
  enum class Scores {
    Plain,
    Softmax,
    Sigmoid,
    SparseMixer,  // the best two, one after the other: see sparse_mixer()
  };
  Scores scores = Scores::Softmax;
  double jitter =
      0.01;  // SparseMixer: experts that are further than 2 jitter from the best count 0

  // Added to the scores where experts are chosen, not to the weights: a tensor of `num_experts`
  // numbers, in one row where `correction_row` says so. An empty name: none.
  std::string correction;
  bool correction_row = false;
  int64_t correction_rows = 1;  // of which the first one is taken

  // Experts lie in groups; those of the best `top_groups` groups alone can be chosen.
  int64_t groups = 1, top_groups = 1;
  enum class GroupScore { Best, SumOfTwo };
  GroupScore group_score = GroupScore::Best;

  // Then, of the chosen ones' scores:
  bool softmax_chosen = false;
  bool normalized = false;       // divided by their sum
  double added_to_sum = 0;       // which this is added to,
  double least_sum = 0;          // or which is at least this
  std::optional<double> p_norm;  // divided by their p-norm
  bool sigmoid_chosen = false;
  double scale = 1.0;
  std::string expert_scale;  // a tensor of a factor for each expert; an empty name: none
};

// Of each token: numbers of experts, int32, and what they count, both (1, q, top_k).
struct Route {
  array::Array indices, weights;
};

class Router {
 public:
  Router(const Parameters& parameters, const RouterOptions& options);

  // x is (1, q, features).
  Route operator()(const array::Array& x) const;

 private:
  array::Array scored(const array::Array& logits) const;
  array::Array choice(const array::Array& scores) const;
  array::Array grouped(const array::Array& scores) const;
  array::Array weighted(const array::Array& chosen) const;
  Route routed(const array::Array& logits) const;
  Route sparse_mixer(const array::Array& logits) const;

  std::string path_;
  RouterOptions options_;
  Linear linear_;
  std::optional<array::Array> correction_;
  std::optional<Norm> input_norm_;
  std::optional<array::Array> input_scale_, expert_scale_;
};

// For int32 indices (..., k) the numbers that stand at them: `places` (..., k, num) has a one for
// each, in the given type.
array::Array places_of(const array::Array& indices, int64_t num, mil::DataType type);

}  // namespace pippin::nn
