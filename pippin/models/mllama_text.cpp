// Llama 3.2 Vision's language model (Meta 2024): Llama 3; the layers of attention to pictures have
// no effect on pure text.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions mllama_text_model(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128256,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 40,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 5e5});
  model.embedding_rows = model.vocab_size + 8;  // for tokens of pictures
  std::vector<int64_t> crossing = {3, 8, 13, 18, 23, 28, 33, 38};
  if (const auto list = config.find("cross_attention_layers")) crossing = list->as_ints();
  std::vector<nn::LayerOptions> layers;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string number = std::to_string(i);
    if (std::find(crossing.begin(), crossing.end(), static_cast<int64_t>(i)) != crossing.end()) {
      model.unused.push_back(model.layers_path + "." + number + ".");
      continue;
    }
    layers.push_back(model.layers[i]);
    layers.back().path = number;
  }
  if (layers.empty()) config.invalid("cross_attention_layers", "all layers");
  model.layers = std::move(layers);
  return model;
}

}  // namespace pippin::models
