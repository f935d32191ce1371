// Inkling's relative positions: each token computes a few numbers for each head, which weight a
// bank of profiles. A profile has a score for each distance to a key; keys further away have no
// score.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pippin/nn/attention/score_bias.h"
#include "pippin/nn/attention/temperature.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RelativeScoresOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t profiles = 0;                    // numbers for each head
  int64_t extent = 0;                      // distances below it have a score
  std::optional<Temperature> temperature;  // of these scores

  std::unique_ptr<const ScoreBias> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
