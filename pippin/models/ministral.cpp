// Ministral (Mistral AI 2024): Mistral that mixes sliding and full layers by layer_types.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions ministral(const Config& config) {
  return mistral(config);
}

}  // namespace pippin::models
