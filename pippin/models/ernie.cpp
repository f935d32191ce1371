// ERNIE (Sun et al. 2019 to 2021): BERT with task types in its embedding.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription ernie(const Config& config) {
  EncoderDescription model = bert_like(config);
  model.encoder.bases = {"ernie", ""};
  const int64_t tasks = config.size("task_type_vocab_size", 3);
  if (config.flag("use_task_id", false)) {
    model.encoder.task_types = "embeddings.task_type_embeddings";
    model.encoder.num_task_types = tasks;
  }
  return model;
}

}  // namespace pippin::models
