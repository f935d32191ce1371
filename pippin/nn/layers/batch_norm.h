// Batch normalization with the statistics of training: a factor and an addend for each channel.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ChannelScale {
  std::vector<double> factors, addends;
};

// Reads "weight", "bias", "running_mean" and "running_var", each (channels), of a checkpoint.
// Throws InvalidFile for a variance below 0.
ChannelScale batch_norm(const Parameters& parameters, int64_t channels, double epsilon = 1e-5);

// The convolution of a checkpoint with the norm of its outputs in its weights.
Convolution batch_normed(const Parameters& convolution, const Parameters& norm,
                         const ConvolutionOptions& options, double epsilon = 1e-5);

}  // namespace pippin::nn
