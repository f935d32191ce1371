// Unigram (Kudo, 2018): of all ways to cut a text into tokens, the one with the highest sum of
// scores, found by Viterbi. A character that is no token scores ten less than the worst token;
// neighbouring unknown characters are one unknown token, or bytes (<0xE2>) where the model has
// them.
#pragma once

#include <memory>

#include "pippin/tokenizers/models.h"

namespace pippin::tokenizers {

std::unique_ptr<Model> make_unigram(const Json& config, JsonFile& file);

}  // namespace pippin::tokenizers
