// The layers after an encoder that join neighboring frames (w2v-BERT 2.0): each has a convolution
// with a step for the residual, one for the input of its attention, and a feed-forward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct FrameAdapterOptions {
  std::string path = "adapter";
  int64_t in_features = 0, features = 0;  // a projection and a norm come first if they differ
  int64_t layers = 1;
  int64_t size = 3, step = 2;  // of the convolutions
  NormOptions norm;
  AttentionOptions attention;
  MLPOptions feed_forward;

  // Frames before it for each one after it, and for one after it.
  int64_t stride() const;
  int64_t shortest() const;
};

class FrameAdapter {
 public:
  FrameAdapter(const Parameters& parameters, const FrameAdapterOptions& options);

  // From (1, frames, in_features) to fewer frames of `features`.
  array::Array operator()(const array::Array& x) const;

 private:
  struct Layer {
    Norm residual_norm, attention_norm, feed_forward_norm;
    Convolution residual, input;
    Attention attention;
    MLP feed_forward;
  };

  std::string path_;
  std::optional<Linear> projection_;
  std::optional<Norm> projection_norm_;
  std::vector<Layer> layers_;
};

}  // namespace pippin::nn
