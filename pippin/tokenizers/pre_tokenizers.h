// Pre-tokenizers, which cut the text into pieces; the model never joins two pieces.
#pragma once

#include <memory>

#include "pippin/tokenizers/piece.h"
#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Leaves added tokens unchanged, and drops empty pieces.
  virtual void split(Pieces& pieces) const = 0;
};

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& config);

}  // namespace pippin::tokenizers
