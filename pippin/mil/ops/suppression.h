// The boxes that non-maximum suppression keeps.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace pippin::mil {

struct BoxCandidate {
  size_t index;
  double score;  // of its best class
  size_t best_class;
};

// The candidate for box `box`, from its `classes` (at least one) scores.
BoxCandidate best_class_of(size_t box, const double* scores, size_t classes);

// The comparison of an overlap with the threshold: in double precision, in single precision, or in
// single precision where reaching the threshold is enough (if the boxes overlap at all).
enum class Overlap { Double, Single, SingleOrEqual };

struct SuppressionRule {
  double iou_threshold = 0;
  double score_threshold = -HUGE_VAL;
  bool per_class = false;  // boxes of different classes may overlap
  Overlap overlap = Overlap::Double;
  size_t limit = 0;
};

// Returns the indices of the boxes that remain, best first, at most `limit`; the best one if no
// score reaches the threshold. Box i has the numbers [4 * i, 4 * i + 4): centre x and y, width,
// height.
std::vector<size_t> keep_boxes(const std::vector<double>& numbers,
                               std::vector<BoxCandidate> candidates, const SuppressionRule& rule);

}  // namespace pippin::mil
