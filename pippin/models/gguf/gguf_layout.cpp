#include "pippin/models/gguf/gguf_layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

class GgufLayout {
 public:
  GgufLayout(std::vector<std::string> modules, std::optional<bool> pairs)
      : modules_(std::move(modules)), pairs_(pairs) {}

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
  static void use(nn::NormOptions& norm) { norm.one_plus = false; }

 private:
  bool has(const std::string& module) const {
    return std::find(modules_.begin(), modules_.end(), module) != modules_.end();
  }

  void use(nn::AttentionOptions& attention) const {
    const bool joined = has("attn_qkv") && !has("attn_q");
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
    experts.router.transposed = false;
    experts.router.correction_row = false;
    experts.router.correction_rows = 1;
    if (experts.shared) use(*experts.shared, "_shexp");
  }

  std::vector<std::string> modules_;
  std::optional<bool> pairs_;  // nullopt: the architecture's default
};

template <typename Model>
void use_layout(const Config& config, Model& model) {
  const auto list = config.find(kGgufModules);
  if (!list) return;
  const auto pairs = config.find(kGgufPairs);
  const GgufLayout layout(list->as_strings(),
                          pairs ? std::optional(pairs->as_bool()) : std::nullopt);
  GgufLayout::use(model.norm);
  for (nn::LayerOptions& layer : model.layers) layout.use(layer);
}

}  // namespace

void use_gguf_layout(const Config& config, nn::DecoderOptions& model) {
  use_layout(config, model);
}

void use_gguf_layout(const Config& config, nn::EncoderOptions& model) {
  use_layout(config, model);
}

}  // namespace pippin::models
