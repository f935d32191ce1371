// Rows of embeddings in a prompt, in place of token ids: what a vision tower makes of an image.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace pippin::runtime {

// Rows that stand next to each other in a prompt. Immutable once they are part of a prompt.
struct EmbeddedRows {
  // A SHA-256, as 64 hexadecimal digits, of everything that the rows were computed from: the
  // pixels, the tower, and the place of these rows within the image. Equal digests mean equal rows.
  std::string digest;
  // The number of rows: positions of the prompt.
  int64_t count = 0;
  // The numbers per row: the hidden size, or several times that if the first layers receive
  // further rows (deepstack).
  int64_t width = 0;
  // [count, width]
  std::vector<float> values;
  // The sizes {frames, height, width} of the grid that the rows form, for models whose positions
  // have three coordinates; {0, 0, 0}: the positions of text.
  std::array<int64_t, 3> grid{};
  // Positions from one frame to the next.
  int64_t frame_step = 1;
};

// A piece of a prompt: token ids, or rows.
using PromptPiece = std::variant<std::vector<int32_t>, std::shared_ptr<const EmbeddedRows>>;

}  // namespace pippin::runtime
