// A layer of Zamba (Zyphra 2024): a state space whose input includes the result of a transformer
// block that several layers share.
//
// The block processes the tokens joined with the embedding's results: norm, attention, norm,
// feed-forward, without residuals. In Zamba 2 each layer that uses it adds matrices of a low rank
// to its projections. Its result is multiplied by a matrix of the layer. In a checkpoint, the
// block's tensors are under the first layer that uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/recurrent/mamba.h"
#include "pippin/nn/recurrent/mamba2.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct SharedBlockOptions {
  int64_t features = 0;
  int64_t home = 0;  // the layer that holds the block
  AttentionOptions attention;
  MLPOptions mlp;
  NormOptions norm;
  std::variant<Mamba2Options, MambaOptions> mamba;
  std::string block = "shared_transformer";

  MixerNeeds needs() const;
  // `parameters` are the layer's.
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
