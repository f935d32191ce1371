// Decoders of vocabularies that mark where words begin or end: WordPiece, BPE with a suffix, and
// CTC (Graves et al., 2006), where a repeated token counts once.
#pragma once

#include <memory>

#include "pippin/tokenizers/decoders.h"

namespace pippin::tokenizers {

std::unique_ptr<Decoder> make_word_piece_decoder(const Json& config);
std::unique_ptr<Decoder> make_bpe_decoder(const Json& config);
std::unique_ptr<Decoder> make_ctc_decoder(const Json& config);

}  // namespace pippin::tokenizers
