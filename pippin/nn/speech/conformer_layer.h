// A conformer's layer (Gulati et al. 2020): attention and a convolution between the two halves of a
// feed-forward, each with a norm before it, and a norm after all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "pippin/array/array.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/attention/relative_attention.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/speech/conformer_convolution.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ConformerLayerOptions {
  int64_t features = 0;
  NormOptions norm;
  // Of x and of the module's result in their sum.
  struct Sum {
    double carry = 1.0, scale = 1.0;
  };
  MLPOptions feed_forward;
  Sum feed_forward_sum{.scale = 0.5}, convolution_sum;
  std::variant<RelativeAttentionOptions, AttentionOptions> attention;
  ConformerConvolutionOptions convolution;
  // Names below the layer; an empty norm: none.
  std::string first_feed_forward = "feed_forward1", second_feed_forward = "feed_forward2",
              attention_path = "self_attn", convolution_path = "conv";
  std::string first_norm = "norm_feed_forward1", second_norm = "norm_feed_forward2",
              attention_norm = "norm_self_att", convolution_norm = "norm_conv",
              last_norm = "norm_out";
};

class ConformerLayer {
 public:
  ConformerLayer(const Parameters& parameters, const ConformerLayerOptions& options);

  array::Array operator()(const array::Array& x, const MixerInput& input) const;

 private:
  std::string path_;
  ConformerLayerOptions options_;
  Norm first_norm_, second_norm_, attention_norm_, last_norm_;
  std::optional<Norm> convolution_norm_;
  MLP first_, second_;
  std::unique_ptr<const Mixer> attention_;
  ConformerConvolution convolution_;
};

}  // namespace pippin::nn
