// Levels of drafts whose source assigns them a probability.
#pragma once

#include <algorithm>

#include "pippin/runtime/draft/drafter.h"

namespace pippin::runtime {

constexpr int kProbabilityLevels = 8;  // from 0 to 1

inline int probability_level(double probability) {
  return std::clamp(static_cast<int>(kProbabilityLevels * probability), 0, kProbabilityLevels - 1);
}

inline Drafter::Prior probability_prior(int level) {
  return {(level + 0.5) / kProbabilityLevels, 4};
}

}  // namespace pippin::runtime
