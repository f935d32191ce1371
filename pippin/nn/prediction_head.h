// The multi-token prediction layer of a decoder (DecoderOptions::Prediction): from a token's hidden
// state and the next token to the logits of the token after that, with the decoder's embedding and
// head.
#pragma once

#include "pippin/array/array.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/pass.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class PredictionHead {
 public:
  // Whether the decoder's options have the form of the layer, and the checkpoint its tensors.
  static bool exists(const Parameters& parameters, const Decoder& decoder);
  // Requires exists(). `decoder` must outlive the head. Throws NotFound or InvalidFile for tensors
  // that are absent or of another shape.
  PredictionHead(const Parameters& parameters, const Decoder& decoder);

  // Of its layer, whose number in the cache is 0.
  const MixerNeeds& needs() const { return layer_.needs(); }

  // From ids (1, q) and the hidden states of the tokens before them, (1, q, hidden_size), after the
  // final norm, to its own hidden states, which stand for those of `ids`, and logits.
  struct Result {
    array::Array hidden, logits;
  };
  Result operator()(const array::Array& ids, const array::Array& previous, Cache& cache,
                    const Pass& pass) const;

 private:
  const Decoder& decoder_;
  Parameters parameters_;
  Norm embedding_norm_, hidden_norm_, final_norm_;
  Linear projection_;
  DecoderLayer layer_;
};

}  // namespace pippin::nn
