// What a sequence has computed of its tokens, copied out of it: for other sequences of the model
// that begin with the same tokens (Sequence::copy_rows(), copy_rest(), append_rows()).
//
// Most caches have a row for each token, which depends on the tokens up to it alone. Rows of any
// stretch of tokens can be kept by themselves. What other caches hold (recurrent states, windows
// that have turned over) is known as a whole only, after the last token: the rest. A model has
// one kind, or both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/byte_span.h"
#include "pippin/base/export.h"
#include "pippin/runtime/row_memory.h"

namespace pippin::runtime {

// What the sequences of a model keep.
struct PIPPIN_API RowLayout {
  // A cache with a row for each token, in each of its groups.
  struct Part {
    uint64_t groups = 0, row_bytes = 0;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  bool has_rest = false;
  // Sequences of up to so many tokens have the same rows for the same tokens; those of longer ones
  // may differ, and are not copied.
  int64_t limit = INT64_MAX;

  bool is_empty() const { return parts.empty() && !has_rest; }
  // Of one token in all parts.
  uint64_t row_bytes() const;
};

// Rows of a stretch of tokens: part after part, in each group after group, in each the rows.
struct RowPiece {
  ByteSpan bytes;
  int64_t rows = 0;              // there are
  int64_t first = 0, count = 0;  // of which these are meant
};

// Copies the rows meant to a piece of their own, of count * row_bytes() bytes.
PIPPIN_API void cut_piece(const RowLayout& layout, const RowPiece& piece, MutableByteSpan target);

// What is known as a whole.
struct SequenceRest {
  // A cache, of which some rows are filled in every group.
  struct Part {
    uint64_t first = 0, filled = 0;
  };
  int64_t count = 0;  // of tokens
  uint32_t marks = 0;
  std::vector<Part> parts;
  std::shared_ptr<const RowMemory> bytes;
};

}  // namespace pippin::runtime
