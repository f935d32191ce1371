// A layer of Zamba 2 (Zyphra 2024): a state space over its tokens plus the result of a transformer
// block, which several layers share.
//
// The block reads the tokens next to the embedding's result: norm, attention, norm, feed-forward,
// without residuals. Each layer that uses it adds low-rank matrices to its projections, and its
// result goes through a matrix of the layer itself. In checkpoints the tensors of the block are
// below the first layer that uses it.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/recurrent/mamba2.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct SharedBlockOptions {
  int64_t features = 0;
  int64_t home = 0;  // the layer that holds the block
  AttentionOptions attention;
  MLPOptions mlp;
  NormOptions norm;
  Mamba2Options mamba;

  MixerNeeds needs() const;
  // `parameters` are the layer's.
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
