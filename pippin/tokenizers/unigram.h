// Unigram (Kudo, 2018): the way to split a text into tokens with the highest sum of scores, found
// by Viterbi. A character that is not a token scores ten less than the worst token. Adjacent
// unknown characters become one unknown token, or bytes (<0xE2>) if the model has them.
#pragma once

#include <memory>

#include "pippin/tokenizers/models.h"

namespace pippin::tokenizers {

std::unique_ptr<Model> make_unigram(const Json& config, JsonFile& file);

}  // namespace pippin::tokenizers
