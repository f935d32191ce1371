// OLMo 3 (Ai2 2025): OLMo 2 with windows in three of four layers, whose positions are not scaled.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions olmo3(const Config& config) {
  Defaults defaults = olmo2_defaults();
  defaults.rope_kind = kFullLayers;
  nn::DecoderOptions model = olmo2_like(config, defaults);
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, 4));
  slide(model, sliding, window_size(config, 4096));
  model.ropes.push_back(sliding_rope(config, model.ropes[0].dims, model.ropes[0].theta));
  for (size_t i = 0; i < count; ++i) {
    if (sliding[i]) model.layers[i].attention().rope = 1;
  }
  return model;
}

}  // namespace pippin::models
