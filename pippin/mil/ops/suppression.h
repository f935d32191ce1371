// Which boxes non-maximum suppression keeps.
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

// The candidate of box `box` by its `classes` scores, of which there is at least one.
BoxCandidate best_class_of(size_t box, const double* scores, size_t classes);

// How an overlap is compared with the threshold: as it is, in single precision, or so and the
// threshold itself being too much (if there is any overlap).
enum class Overlap { Double, Single, SingleOrEqual };

struct SuppressionRule {
  double iou_threshold = 0;
  double score_threshold = -HUGE_VAL;
  bool per_class = false;  // boxes of different classes may overlap
  Overlap overlap = Overlap::Double;
  size_t limit = 0;
};

// The indices of the boxes that remain, best first, at most `limit`; the best one where no score
// reaches the threshold. Box i has the numbers [4 * i, 4 * i + 4): centre x and y, width, height.
std::vector<size_t> keep_boxes(const std::vector<double>& numbers,
                               std::vector<BoxCandidate> candidates, const SuppressionRule& rule);

}  // namespace pippin::mil
