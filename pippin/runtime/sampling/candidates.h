// The tokens that may come next, with their scores: what the processors of a sampling chain change
// one after the other.
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
  double score;  // a logit: the log of the probability up to a constant
};

class PIPPIN_API Candidates {
 public:
  // A candidate for each logit. Throws Internal where one is not a number, or none is finite.
  void assign(std::span<const float> logits);

  std::span<const Candidate> items() const { return items_; }  // by rising id
  size_t size() const { return items_.size(); }
  // The place of a token, or size() where it is gone.
  size_t find(int32_t id) const;

  void set_score(size_t place, double score) {
    items_[place].score = score;
    weights_are_known_ = false;
  }
  template <typename Change>  // the new score of each
  void change_scores(Change&& change) {
    for (Candidate& candidate : items_) candidate.score = change(candidate);
    weights_are_known_ = false;
  }
  template <typename Keep>  // keep(place); the others are gone
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

  // The place of the first of the largest scores. Throws InvalidArgument where no candidate with a
  // finite score is left: what was taken out was all.
  size_t best() const;
  // By place, the probability up to a common factor: 1 for the best one before any was dropped.
  std::span<const double> weights();
  // The sum of the weights.
  double total();

 private:
  std::vector<Candidate> items_;
  std::vector<double> weights_;
  bool weights_are_known_ = false;
};

}  // namespace pippin::runtime
