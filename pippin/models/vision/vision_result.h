// The meaning of the rows that a vision tower gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::models::vision {

// The meaning of a tower's rows.
enum class VisionResult : uint8_t {
  Rows,          // of a prompt
  Vector,        // one row for an image: its embedding
  SharedVector,  // in one space with the vectors of texts, both of length 1
  Scores,        // one row for an image: a classifier's logits
  LabelMap,      // a row of logits of labels for each place of an image, whose grid the run has
  DepthMap,      // the same of one number, the depth
};

// Whether an image becomes a grid of rows.
inline bool is_map(VisionResult result) {
  return result == VisionResult::LabelMap || result == VisionResult::DepthMap;
}

// The labels of a classifier.
struct VisionLabels {
  std::vector<std::string> names;
  bool independent = false;  // the probability of each is the sigmoid of its logit
};

// From the cosine of a text and an image of one space to the logit of their agreement:
// factor * cosine + bias.
struct PairScale {
  double factor = 1, bias = 0;
  bool independent = false;  // the probability of each text is the sigmoid of its logit
};

}  // namespace pippin::models::vision
