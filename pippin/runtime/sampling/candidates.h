// The candidates for the next token with their scores, which the processors of a sampling chain
// modify in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

struct Candidate {
  int32_t id;
  double score;  // a logit: log probability plus a constant
};

class PIPPIN_API Candidates {
 public:
  // Adds one candidate per logit, [vocab_size]. Throws Internal if one is NaN or none is finite.
  void assign(std::span<const float> logits);

  std::span<const Candidate> items() const { return items_; }  // in order of id
  size_t size() const { return items_.size(); }
  // The index of a token in items(), or size() if it was removed.
  size_t find(int32_t id) const;

  void set_score(size_t place, double score) {
    items_[place].score = score;
    weights_are_known_ = false;
  }
  template <typename Change>  // change(candidate) returns the new score
  void change_scores(Change&& change) {
    for (Candidate& candidate : items_) candidate.score = change(candidate);
    weights_are_known_ = false;
  }
  template <typename Keep>  // removes those with keep(index) false
  void keep_if(Keep&& keep) {
    size_t kept = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!keep(i)) continue;
      items_[kept] = items_[i];
      if (weights_are_known_) weights_[kept] = weights_[i];
      ++kept;
    }
    items_.resize(kept);
    if (weights_are_known_) weights_.resize(kept);
  }

  // Removes tokens whose bit is 0: token i is bit i % 64 of word i / 64. Tokens after the last word
  // are removed.
  void keep_only(std::span<const uint64_t> words);

  // The index of the largest score, the first one among equals. Throws InvalidArgument if no
  // candidate with a finite score is left.
  size_t best() const;
  // The probabilities by index, up to a common factor: the best candidate before any removal has 1.
  std::span<const double> weights();
  // The sum of the weights.
  double total();

 private:
  std::vector<Candidate> items_;
  std::vector<double> weights_;
  bool weights_are_known_ = false;
};

}  // namespace pippin::runtime
