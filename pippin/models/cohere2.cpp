// Command R7B and Command A (Cohere): Command R with windows in three of four layers, and positions
// only in those.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions cohere2(const Config& config) {
  nn::DecoderOptions model = cohere(config);
  const size_t count = model.layers.size();
  const int64_t pattern =
      config.size("sliding_window_pattern", config.size("_sliding_window_pattern", 4));
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, pattern));
  const auto window = window_size(config, 4096);
  slide(model, sliding, window);
  for (size_t i = 0; i < count; ++i) {
    if (!sliding[i] || !window) model.layers[i].attention().rope.reset();
  }
  return model;
}

}  // namespace pippin::models
