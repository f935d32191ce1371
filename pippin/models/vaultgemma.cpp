// VaultGemma (Google 2025): Gemma 2 without the norms after attention and feed-forward.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions vaultgemma(const Config& config) {
  nn::DecoderOptions model = gemma2(config);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm.clear();
    layer.mlp_post_norm.clear();
  }
  return model;
}

}  // namespace pippin::models
