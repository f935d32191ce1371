// DeBERTa, version 1 (He et al. 2020): one matrix for q, k and v, a row of the table for each
// distance.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription deberta(const Config& config) {
  config.require_flag("talking_head", false, false);
  nn::DisentangledAttentionOptions names;
  names.shared_projections = false;
  names.fused = "self.in_proj";
  names.query_bias = "self.q_bias";
  names.value_bias = "self.v_bias";
  names.position_key = "self.pos_proj";
  names.position_query = "self.pos_q_proj";
  names.output = "output.dense";
  return deberta_like(config, {.vocab_size = 50265, .token_types = 0, .epsilon = 1e-7}, names);
}

}  // namespace pippin::models
