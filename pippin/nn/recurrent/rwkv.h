// The two blocks of RWKV 4 (Peng et al. 2023), each of which mixes a token with the one before it.
// Both are mixers, since both carry that token.
//
// TimeMix: each feature is a mean of the values of all tokens so far, weighted by the exponential
// of their keys, which decays with their distance; the token itself has time_first in place of a
// decay. ChannelMix: value(relu(key)^2), times a sigmoid of the receptance.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct TimeMixOptions {
  int64_t features = 0, hidden_features = 0;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

struct ChannelMixOptions {
  int64_t features = 0, hidden_features = 0;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
