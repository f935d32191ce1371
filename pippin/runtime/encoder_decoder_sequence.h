// Sequences of encoder–decoder models: one kind for sources that are tokens, one for recordings.
#pragma once

#include <memory>
#include <span>

#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

std::unique_ptr<Sequence> make_encoder_decoder_sequence(
    const std::shared_ptr<EncoderDecoderModel>& model);

// As Model::feed_together(), in one pass over the weights. Returns false, and does nothing, if a
// sequence has no source yet.
bool feed_encoder_decoders_together(EncoderDecoderModel& model,
                                    std::span<Sequence* const> sequences);

}  // namespace pippin::runtime
