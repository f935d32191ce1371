// The text on its way through the pipeline: pieces in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::tokenizers {

struct Piece {
  std::string text;
  int32_t token = -1;     // an added token, which no later stage touches
  bool at_start = false;  // begins where the whole input begins (Metaspace asks)
};

using Pieces = std::vector<Piece>;

}  // namespace pippin::tokenizers
