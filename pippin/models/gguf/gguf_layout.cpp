#include "pippin/models/gguf/gguf_layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

class GgufLayout {
 public:
  explicit GgufLayout(const Config& config)
      : config_(config), modules_(config.find(kGgufModules)->as_strings()) {
    if (const auto pairs = config.find(kGgufPairs)) pairs_ = pairs->as_bool();
    if (const auto gating = config.find(kGgufGating)) gating_ = gating->as_int();
  }

  void use(nn::LayerOptions& layer) const {
    use(layer.norm);
    if (auto* attention = std::get_if<nn::AttentionOptions>(&layer.mixer)) {
      use(*attention);
    } else if (auto* both = std::get_if<nn::AttentionWithMambaOptions>(&layer.mixer)) {
      use(both->attention);
    } else if (auto* delta = std::get_if<nn::GatedDeltaOptions>(&layer.mixer)) {
      use(*delta);
    }
    if (auto* mlp = std::get_if<nn::MLPOptions>(&layer.feed_forward)) {
      use(*mlp, "");
    } else if (auto* experts = std::get_if<nn::ExpertsOptions>(&layer.feed_forward)) {
      use(*experts);
    } else if (auto* both = std::get_if<nn::MlpWithExpertsOptions>(&layer.feed_forward)) {
      use(both->mlp, "");
      use(both->experts);
      for (nn::NamedNorm* norm : {&both->mlp_norm, &both->mlp_post_norm, &both->experts_post_norm,
                                  &both->experts.input_norm}) {
        use(norm->norm);
      }
    }
  }
  // The converter has added the 1.
  static void use(nn::NormOptions& norm) {
    norm.one_plus_in_adapters |= norm.one_plus;
    norm.one_plus = false;
  }

 private:
  bool has(const std::string& module) const {
    return std::find(modules_.begin(), modules_.end(), module) != modules_.end();
  }

  void use(nn::AttentionOptions& attention) const {
    const bool joined = has("attn_qkv") && !has("attn_q");
    attention.other_form = {attention.layout, attention.interleaved};
    attention.layout = joined ? nn::QkvLayout::Blocks : nn::QkvLayout::Separate;
    attention.transposed = false;
    attention.interleaved = pairs_.value_or(attention.interleaved);
    use(attention.qk_norm.norm);
    if (attention.qk_norm.weights == nn::QkNorm::Weights::HeadModules) {
      attention.qk_norm.weights = nn::QkNorm::Weights::PerHead;
    }
  }

  void use(nn::GatedDeltaOptions& delta) const {
    delta.layout = has("ssm_ba") ? nn::GatedDeltaOptions::Layout::Halfway
                                 : nn::GatedDeltaOptions::Layout::Joined;
    delta.tiled = !has("ssm_ba");
    delta.reordered = delta.value_heads > delta.key_heads;
  }

  void use(nn::MLPOptions& mlp, const std::string& ending) const {
    mlp.transposed = false;
    const bool fused = mlp.gated && !has("ffn_gate" + ending);
    if (fused && !mlp.fused) mlp.gate = "gate_up_proj";
    if (!fused && mlp.fused) {
      mlp.gate = "gate_proj";
      mlp.up = "up_proj";
    }
    mlp.fused = fused;
  }

  void use(nn::ExpertsOptions& experts) const {
    experts.weights.layout = nn::ExpertWeightsOptions::Layout::Modules;
    experts.weights.mxfp4 = false;
    experts.weights.gate = "gate_proj";
    experts.weights.up = "up_proj";
    experts.weights.down = "down_proj";
    experts.result_bias.clear();  // the converter leaves it out
    use(experts.router);
    experts.router.transposed = false;
    experts.router.correction_row = false;
    experts.router.correction_rows = 1;
    if (experts.shared) use(*experts.shared, "_shexp");
  }

  // Functions of architectures with softmax or sigmoid replace each other; others have to be the
  // architecture's.
  void use(nn::RouterOptions& router) const {
    using Scores = nn::RouterOptions::Scores;
    constexpr int64_t kDefault = 0, kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3,
                      kSqrtSoftplus = 4;
    const bool either = router.scores == Scores::Softmax || router.scores == Scores::Sigmoid;
    if (!gating_ || !either || *gating_ == kDefault) return;
    switch (*gating_) {
      case kSoftmax:
        router.scores = Scores::Softmax;
        break;
      case kSigmoid:
        router.scores = Scores::Sigmoid;
        break;
      case kSoftmaxOfChosen:
        router.scores = Scores::Plain;
        router.softmax_chosen = true;
        break;
      case kSqrtSoftplus:
        router.scores = Scores::SqrtSoftplus;
        break;
      default:
        fail(ErrorCode::Unsupported,
             "{}: {} is not known (known: 1 softmax, 2 sigmoid, 3 softmax of the chosen, 4 square "
             "root of softplus)",
             config_.text(kGgufGatingKey, kGgufGating), *gating_);
    }
  }

  const Config& config_;
  std::vector<std::string> modules_;
  std::optional<bool> pairs_;  // nullopt: the architecture's default
  std::optional<int64_t> gating_;
};

template <typename Model>
void use_layout(const Config& config, Model& model) {
  if (!config.contains(kGgufModules)) return;
  const GgufLayout layout(config);
  GgufLayout::use(model.norm);
  for (nn::LayerOptions& layer : model.layers) layout.use(layer);
  const auto list = config.find(kGgufXielu);
  if (!list) return;
  const std::vector<double> xielu = list->as_floats();
  if (xielu.size() != 4 * model.layers.size()) {
    config.invalid(kGgufXielu,
                   fmt::format("{} numbers for {} layers", xielu.size(), model.layers.size()));
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const double* const own = &xielu[4 * i];
    model.layers[i].mlp().xielu =
        nn::XIELUOptions{.alpha_p = own[0], .alpha_n = own[1], .beta = own[2], .epsilon = own[3]};
  }
}

}  // namespace

void use_gguf_layout(const Config& config, nn::DecoderOptions& model) {
  use_layout(config, model);
}

void use_gguf_layout(const Config& config, nn::EncoderOptions& model) {
  use_layout(config, model);
}

}  // namespace pippin::models
