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

// A token and its score.
struct Candidate {
  int32_t id;    // the token
  double score;  // a logit: log probability plus a constant
};

// The most likely tokens that a device may find instead of giving all logits: at least so many, or
// the whole vocabulary.
constexpr int64_t kMostLikely = 100;

// Candidates in order of id; initially the whole vocabulary.
class PIPPIN_API Candidates {
 public:
  // Adds one candidate per logit, [vocab_size]. Throws Internal if one is NaN or none is finite.
  void assign(std::span<const float> logits);
  // Replaces the candidates, in order of id.
  void assign(std::span<const Candidate> candidates);

  // The candidates that are left, in order of id.
  std::span<const Candidate> items() const { return items_; }
  // The number of candidates that are left.
  size_t size() const { return items_.size(); }
  // Returns the index of a token in items(), or size() if it was removed.
  size_t find(int32_t id) const;

  // Sets the score of items()[place].
  void set_score(size_t place, double score) {
    items_[place].score = score;
    weights_are_known_ = false;
  }
  // Sets every score to change(candidate).
  template <typename Change>  // change(candidate) returns the new score
  void change_scores(Change&& change) {
    for (Candidate& candidate : items_) candidate.score = change(candidate);
    weights_are_known_ = false;
  }
  // Removes the candidates for which keep(index) returns false.
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

  // Returns the index of the largest score, the first one among equals. Throws InvalidArgument if
  // no candidate with a finite score is left.
  size_t best() const;
  // Returns the probabilities by index, up to a common factor: the best candidate before any
  // removal has 1. Throws as best().
  std::span<const double> weights();
  // Returns the sum of the weights. Throws as best().
  double total();

 private:
  std::vector<Candidate> items_;
  std::vector<double> weights_;
  bool weights_are_known_ = false;
};

}  // namespace pippin::runtime
