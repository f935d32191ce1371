// The text on its way through the pipeline: pieces in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin::tokenizers {

struct Piece {
  std::string text;
  int32_t token = -1;     // an added token, which no later stage touches
  bool at_start = false;  // begins where the whole input begins (Metaspace asks)
  // What normalizers may make of it, in bytes: a few lines of a file can ask for more than there
  // is.
  size_t most_bytes = SIZE_MAX;
};

// A text for a normalizer. None that is of use makes texts eight times as long.
inline Piece piece_to_normalize(std::string text, bool at_start) {
  const size_t most = std::max(size_t{1} << 20, 8 * text.size());
  return {std::move(text), -1, at_start, most};
}

using Pieces = std::vector<Piece>;

}  // namespace pippin::tokenizers
