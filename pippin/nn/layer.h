// A decoder's or an encoder's layer: mixer and feed-forward, with norms and residuals around them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "pippin/array/array.h"
#include "pippin/nn/altup.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/attention/compressed_attention.h"
#include "pippin/nn/attention/convolved_attention.h"
#include "pippin/nn/attention/disentangled_attention.h"
#include "pippin/nn/attention/latent_attention.h"
#include "pippin/nn/attention/span_attention.h"
#include "pippin/nn/attention_with_mamba.h"
#include "pippin/nn/expert_attention.h"
#include "pippin/nn/experts/experts.h"
#include "pippin/nn/experts/mlp_with_experts.h"
#include "pippin/nn/hyper_connection.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/feature_shift.h"
#include "pippin/nn/layers/feed_forward.h"
#include "pippin/nn/layers/gated_norm.h"
#include "pippin/nn/layers/layer_rows.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/recurrent/gated_delta.h"
#include "pippin/nn/recurrent/lightning_attention.h"
#include "pippin/nn/recurrent/mamba.h"
#include "pippin/nn/recurrent/mamba2.h"
#include "pippin/nn/recurrent/mlstm.h"
#include "pippin/nn/recurrent/recurrent_unit.h"
#include "pippin/nn/recurrent/rwkv.h"
#include "pippin/nn/recurrent/short_convolution.h"
#include "pippin/nn/shared_block.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Each has needs() and make(parameters).
using MixerOptions =
    std::variant<AttentionOptions, LatentAttentionOptions, ShortConvolutionOptions, MambaOptions,
                 Mamba2Options, RecurrentUnitOptions, AttentionWithMambaOptions, SharedBlockOptions,
                 GatedDeltaOptions, LightningAttentionOptions, DisentangledAttentionOptions,
                 ExpertAttentionOptions, ConvolvedAttentionOptions, CompressedAttentionOptions,
                 TimeMixOptions, ChannelMixOptions, MLSTMOptions, SpanAttentionOptions,
                 NoMixerOptions>;
// Each has make(parameters).
using FeedForwardOptions =
    std::variant<MLPOptions, ExpertsOptions, MlpWithExpertsOptions, NoFeedForwardOptions>;

struct LayerOptions {
  // With f and g for mixer and feed-forward:
  enum class Form {
    Serial,       // x += post(f(norm(x))); x += post(g(norm(x)))
    Parallel,     // x += f(norm(x)) + g(norm(x)), with separate norms or the mixer's for both
    NormAfter,    // x = norm(x + f(x)); x = norm(x + g(x))
    NormCarried,  // n = norm(x); x = n + f(n); the same with g: the norm is in the residual too.
                  // With factors: x = attention_carry * n + attention_scale * f(n), and likewise
                  // for g
  };
  Form form = Form::Serial;
  int64_t features = 0;
  NormOptions norm;
  // Around the mixer, attention in most models, and the feed-forward. An empty name: none.
  std::string attention_norm = "input_layernorm", attention_post_norm;
  // NormAfter: h = norm(x + f(x)) becomes norm'(x + norm(x + f(x))).
  std::string attention_second_norm;
  std::string mlp_norm = "post_attention_layernorm", mlp_post_norm;
  int64_t attention_norm_rank = 0,
          mlp_norm_rank = 0;                // of their gates (nn/layers/gated_norm.h); 0: none
  std::optional<double> post_norm_epsilon;  // of the norms after, if not norm's
  double residual_scale = 1.0;              // of f and g
  double attention_carry = 1.0, attention_scale = 1.0, mlp_carry = 1.0, mlp_scale = 1.0;
  double post_norm_scale = 1.0;  // of the weights of attention_post_norm and mlp_post_norm
  std::string attention_path = "self_attn", mlp_path = "mlp";
  MixerOptions mixer;
  FeedForwardOptions feed_forward;
  // A second feed-forward of the same input, whose output is added to the residual of the next
  // layer that takes it (LongCat's shortcut).
  std::optional<FeedForwardOptions> shortcut;
  std::string shortcut_path;
  bool takes_shortcut = false;  // of an earlier layer
  std::optional<AltUpOptions> altup;
  std::optional<LayerRowsOptions> rows;  // what the layer adds of its own of them
  // For the residual, and for results before they are added to it (Doge, ZAYA).
  FeatureShiftOptions attention_residual, attention_added, mlp_residual, mlp_added;
  // Causal convolutions of both results, which are added to them: modules of these names with this
  // many taps (Inkling).
  std::string attention_convolution, mlp_convolution;
  int64_t convolution_length = 0;
  std::optional<HyperOptions> hyper;  // "hc_attn" and "hc_ffn" in place of the residual
  // Stacks of layers that alternate (HRM): a stack's first layer gets the sum of the last results
  // of the low and the high stack; its last layer's result goes through a norm without weights.
  // Before the first turn, the embedding replaces the high stack's result, and a vector the low
  // stack's.
  struct Turn {
    bool high = false;
    bool begins = false, ends = false;
    std::string start;  // that vector, below the model's root; in the first layer of all
  };
  std::optional<Turn> turn;
  std::string output_scale;  // a tensor of one number that the result is multiplied with
  std::string path;          // below the layers' path, where that is not the layer's number

  // The mixer of a layer that is known to have attention, the feed-forward of one that is known to
  // be dense; Internal otherwise.
  AttentionOptions& attention();
  const AttentionOptions& attention() const;
  MLPOptions& mlp();
  const MLPOptions& mlp() const;
  MixerNeeds needs() const;
};

class DecoderLayer {
 public:
  DecoderLayer(const Parameters& parameters, const LayerOptions& options);

  array::Array operator()(const array::Array& x, const MixerInput& input) const;
  const MixerNeeds& needs() const { return needs_; }

 private:
  // Without turns, rows and output_scale.
  array::Array residual(const array::Array& x, const MixerInput& input) const;
  array::Array mixed(const array::Array& tokens, const MixerInput& input) const;
  array::Array fed(const array::Array& tokens, const MixerInput& input) const;
  array::Array begun(const array::Array& x, LayerCarry& carry) const;
  array::Array ended(const array::Array& x, LayerCarry& carry) const;
  array::Array in_streams(const array::Array& streams, const MixerInput& input) const;

  std::string path_;
  LayerOptions options_;
  MixerNeeds needs_;
  std::optional<GatedNorm> attention_norm_, attention_second_norm_, attention_post_norm_, mlp_norm_,
      mlp_post_norm_;
  std::optional<AltUp> altup_;
  std::optional<LayerRow> row_;
  std::optional<array::Array> output_scale_;
  std::optional<FeatureShift> attention_residual_, attention_added_, mlp_residual_, mlp_added_;
  std::optional<CausalConvolution> attention_convolution_, mlp_convolution_;
  std::optional<HyperConnection> attention_streams_, mlp_streams_;
  std::optional<array::Array> start_;
  std::optional<Norm> end_norm_;
  std::unique_ptr<const Mixer> mixer_;
  std::unique_ptr<const FeedForward> feed_forward_, shortcut_;
};

}  // namespace pippin::nn
