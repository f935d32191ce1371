// Emu3's language model (BAAI 2024), a Llama.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions emu3_text_model(const Config& config) {
  return llama_like(config, {.vocab_size = 184622,
                             .hidden_size = 4096,
                             .intermediate_size = 14336,
                             .num_layers = 32,
                             .num_heads = 32,
                             .num_kv_heads = 8,
                             .context = 9216,
                             .epsilon = 1e-5,
                             .rope_theta = 1e6});
}

}  // namespace pippin::models
