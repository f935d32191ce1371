// HuBERT (Hsu et al. 2021) with a CTC head: wav2vec 2.0's form.
#include <variant>

#include "pippin/models/speech/speech_description.h"

namespace pippin::models {

SpeechDescription hubert(const Config& config) {
  SpeechDescription model = wav2vec2_like(config, "hubert");
  std::get<nn::WaveformFrontOptions>(model.encoder.front).has_norm =
      config.flag("feat_proj_layer_norm", true);
  model.encoder.positions->batch_norm = config.flag("conv_pos_batch_norm", false);
  return model;
}

}  // namespace pippin::models
