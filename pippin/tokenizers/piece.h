// Pieces of text, in order, as they pass through the pipeline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin::tokenizers {

struct Piece {
  std::string text;
  int32_t token = -1;     // an added token, which no later stage touches
  bool at_start = false;  // begins where the whole input begins (for Metaspace)
  // Limit for normalizers, in bytes: a few lines of a file can make a text grow without bound.
  size_t most_bytes = SIZE_MAX;
};

// Makes a piece for a normalizer. Useful normalizers lengthen texts less than eightfold.
inline Piece piece_to_normalize(std::string text, bool at_start) {
  const size_t most = std::max(size_t{1} << 20, 8 * text.size());
  return {std::move(text), -1, at_start, most};
}

using Pieces = std::vector<Piece>;

}  // namespace pippin::tokenizers
