// Sequences of encoder–decoder models: one kind for sources that are tokens, one for recordings.
#pragma once

#include <memory>

#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

std::unique_ptr<Sequence> make_encoder_decoder_sequence(
    const std::shared_ptr<EncoderDecoderModel>& model);

}  // namespace pippin::runtime
