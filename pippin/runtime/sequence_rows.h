// The data that a sequence has computed for its tokens, copied for other sequences of the model
// that begin with the same tokens (Sequence::copy_rows(), copy_rest(), append_rows()).
//
// Most caches have one row per token, which depends only on the tokens up to it, so rows of any
// range of tokens can be kept separately. The content of other caches (recurrent states, rotated
// windows) is known only as a whole, after the last token: the rest. A model has one kind, or both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/byte_span.h"
#include "pippin/base/export.h"
#include "pippin/runtime/row_memory.h"

namespace pippin::runtime {

// The layout of the data that a model's sequences keep.
struct PIPPIN_API RowLayout {
  // A cache with one row per token in each of its groups.
  struct Part {
    uint64_t groups = 0, row_bytes = 0;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  bool has_rest = false;
  // Sequences of up to this many tokens have equal rows for equal tokens. Rows of longer sequences
  // may differ and are not copied.
  int64_t limit = INT64_MAX;

  bool is_empty() const { return parts.empty() && !has_rest; }
  // Bytes per token in all parts.
  uint64_t row_bytes() const;
};

// The rows of a range of tokens, nested as part, group, row.
struct RowPiece {
  ByteSpan bytes;
  int64_t rows = 0;              // in `bytes`
  int64_t first = 0, count = 0;  // the ones selected
};

// Copies the selected rows to `target`, of count * row_bytes() bytes.
PIPPIN_API void cut_piece(const RowLayout& layout, const RowPiece& piece, MutableByteSpan target);

// The data that is known only as a whole.
struct SequenceRest {
  // A cache with the same filled rows in every group.
  struct Part {
    uint64_t first = 0, filled = 0;
  };
  int64_t count = 0;  // number of tokens
  uint32_t marks = 0;
  std::vector<Part> parts;
  std::shared_ptr<const RowMemory> bytes;
};

}  // namespace pippin::runtime
