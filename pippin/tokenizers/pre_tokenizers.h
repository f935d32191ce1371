// Pre-tokenizers cut the text into pieces; the model never joins two of them.
#pragma once

#include <memory>

#include "pippin/tokenizers/piece.h"
#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Pieces that are added tokens stay as they are; empty pieces are dropped.
  virtual void split(Pieces& pieces) const = 0;
};

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& config);

}  // namespace pippin::tokenizers
