// Byte-pair encoding (Sennrich et al., 2016): a word starts as its characters, and the adjacent
// pair with the lowest rank is merged until no pair can be merged.
#pragma once

#include <memory>

#include "pippin/tokenizers/models.h"

namespace pippin::tokenizers {

std::unique_ptr<Model> make_bpe(const Json& config, JsonFile& file);

}  // namespace pippin::tokenizers
