// The text model of data2vec (Baevski et al. 2022): RoBERTa.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription data2vec_text(const Config& config) {
  EncoderDescription model = roberta(config);
  model.encoder.bases = {"data2vec_text", ""};
  return model;
}

}  // namespace pippin::models
