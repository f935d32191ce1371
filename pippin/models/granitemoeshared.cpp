// Granite MoE with an expert for every token in addition to the chosen ones.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

void add_granite_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model,
                               int64_t width) {
  experts.shared_path = "shared_mlp";
  experts.shared = nn::MLPOptions{.features = model.hidden_size,
                                  .hidden_features = width,
                                  .activation = experts.activation,
                                  .fused = true,
                                  .gate = "input_linear",
                                  .down = "output_linear"};
}

nn::DecoderOptions granitemoeshared(const Config& config) {
  nn::DecoderOptions model = granitemoe(config);
  const auto width = config.find("shared_intermediate_size");
  if (!width || width->as_int() == 0) return model;
  for (nn::LayerOptions& layer : model.layers) {
    add_granite_shared_expert(std::get<nn::ExpertsOptions>(layer.feed_forward), model,
                              config.size("shared_intermediate_size", 1));
  }
  return model;
}

}  // namespace pippin::models
