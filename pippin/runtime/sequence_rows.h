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
    // The number of groups, and the bytes of a row in one of them.
    uint64_t groups = 0, row_bytes = 0;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;  // the caches with rows, in a fixed order
  bool has_rest = false;    // whether there are also caches without rows
  // Sequences of up to this many tokens have equal rows for equal tokens. Rows of longer sequences
  // may differ and are not copied.
  int64_t limit = INT64_MAX;

  // Returns whether nothing can be copied.
  bool is_empty() const { return parts.empty() && !has_rest; }
  // Returns the bytes per token in all parts.
  uint64_t row_bytes() const;
};

// The rows of a range of tokens, nested as part, group, row.
struct RowPiece {
  ByteSpan bytes;                // the data
  int64_t rows = 0;              // the number of rows in `bytes`
  int64_t first = 0, count = 0;  // the first of the selected rows, and their number
};

// Copies the selected rows to `target`, of count * row_bytes() bytes. Throws InvalidArgument for a
// piece of another size.
PIPPIN_API void cut_piece(const RowLayout& layout, const RowPiece& piece, MutableByteSpan target);

// The data that is known only as a whole.
struct SequenceRest {
  // A cache with the same filled rows in every group.
  struct Part {
    uint64_t first = 0, filled = 0;  // the first of the filled rows, and their number
  };
  int64_t count = 0;                       // number of tokens
  uint32_t marks = 0;                      // further state of the sequence
  std::vector<Part> parts;                 // one per cache without rows per token, in a fixed order
  std::shared_ptr<const RowMemory> bytes;  // the filled rows of all parts
};

}  // namespace pippin::runtime
