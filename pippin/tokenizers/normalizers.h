// Normalizers, which rewrite the text before it is split.
#pragma once

#include <memory>

#include "pippin/tokenizers/piece.h"
#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(Piece& piece) const = 0;
};

// Throws LimitExceeded if `bytes` exceeds the limit of the piece.
void check_growth(const Piece& piece, size_t bytes);

std::unique_ptr<Normalizer> make_normalizer(const Json& config);

}  // namespace pippin::tokenizers
