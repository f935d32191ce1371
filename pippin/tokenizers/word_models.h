// The two models that look up whole words: WordPiece (Schuster and Nakajima, 2012, as in BERT: the
// longest known prefix, then the longest known continuation, and so on) and WordLevel (a word is a
// token or unknown).
#pragma once

#include <memory>

#include "pippin/tokenizers/models.h"

namespace pippin::tokenizers {

std::unique_ptr<Model> make_word_piece(const Json& config, JsonFile& file);
std::unique_ptr<Model> make_word_level(const Json& config, JsonFile& file);

}  // namespace pippin::tokenizers
