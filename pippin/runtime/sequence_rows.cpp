#include "pippin/runtime/sequence_rows.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/sequence_file.h"
#include "pippin/runtime/sequence_use.h"

namespace pippin::runtime {
namespace {

void check_piece(const RowLayout& layout, const RowPiece& piece) {
  const bool fits =
      piece.first >= 0 && piece.count >= 0 && piece.rows >= 0 &&
      piece.count <= piece.rows - piece.first &&
      checked_mul(static_cast<uint64_t>(piece.rows), layout.row_bytes()) == piece.bytes.size();
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "rows [{}, {}) of a piece of {} with {} bytes: a row of the model has {}", piece.first,
         piece.first + piece.count, piece.rows, piece.bytes.size(), layout.row_bytes());
  }
}

void check_rest(const SequenceRest& rest, const std::vector<CacheArray>& arrays) {
  uint64_t size = 0;
  size_t index = 0;
  for (const CacheArray& array : arrays) {
    if (array.by_token) continue;
    if (index == rest.parts.size()) break;
    const auto [first, filled] = rest.parts[index++];
    if (first > array.rows || filled > array.rows - first) {
      fail(ErrorCode::InvalidArgument, "rows [{}, {}) of cache '{}', which has {}", first,
           first + filled, array.name, array.rows);
    }
    size += array.groups * filled * array.row_bytes();  // at most the array's size
  }
  const auto wanted = std::count_if(arrays.begin(), arrays.end(),
                                    [](const CacheArray& array) { return !array.by_token; });
  const uint64_t there = rest.bytes == nullptr ? 0 : rest.bytes->size();
  if (std::ssize(rest.parts) != wanted || size != there) {
    fail(ErrorCode::InvalidArgument,
         "the rest of a sequence has {} caches and {} bytes, the model has {} and {}",
         rest.parts.size(), there, wanted, size);
  }
}

RowLayout layout_of(const std::vector<CacheArray>& arrays) {
  RowLayout layout;
  for (const CacheArray& array : arrays) {
    if (array.by_token) {
      layout.parts.push_back({array.groups, array.row_bytes()});
    } else {
      layout.has_rest = true;
    }
  }
  return layout;
}

}  // namespace

uint64_t RowLayout::row_bytes() const {
  uint64_t size = 0;
  for (const Part& part : parts) size += part.groups * part.row_bytes;
  return size;
}

void cut_piece(const RowLayout& layout, const RowPiece& piece, MutableByteSpan target) {
  check_piece(layout, piece);
  std::byte* to = target.data();
  uint64_t at = 0;
  for (const auto& part : layout.parts) {
    const auto first = static_cast<uint64_t>(piece.first) * part.row_bytes;
    const auto size = static_cast<uint64_t>(piece.count) * part.row_bytes;
    for (uint64_t group = 0; group < part.groups; ++group) {
      if (size > 0) std::memcpy(to, piece.bytes.data() + at + first, size);
      to += size;
      at += static_cast<uint64_t>(piece.rows) * part.row_bytes;
    }
  }
}

RowLayout Sequence::row_layout() {
  const Use use(*this);
  return find_layout();
}

RowLayout Sequence::find_layout() {
  if (!model_->capabilities().save) return {};
  RowLayout layout = layout_of(arrays(position()));
  layout.limit = row_limit();
  return layout;
}

uint64_t Sequence::cached_bytes() {
  const Use use(*this);
  uint64_t size = 0;
  for (const CacheArray& cache : arrays(position())) {
    size += cache.groups * cache.filled * cache.row_bytes();
  }
  return size;
}

void Sequence::copy_rows(int64_t begin, int64_t end, MutableByteSpan target) {
  const Use use(*this);
  const auto caches = arrays(position());
  const RowLayout layout = find_layout();
  if (begin < 0 || begin > end || end > position() || position() > layout.limit) {
    fail(ErrorCode::InvalidArgument, "rows [{}, {}) of a sequence of {} tokens", begin, end,
         position());
  }
  const auto count = static_cast<uint64_t>(end - begin);
  if (target.size() != count * layout.row_bytes()) {
    fail(ErrorCode::InvalidArgument, "{} rows of {} bytes do not fill {}", count,
         layout.row_bytes(), target.size());
  }
  settle();
  if (count > 0) complete_rows();
  std::byte* to = target.data();
  for (size_t i = 0; i < caches.size() && count > 0; ++i) {
    const CacheArray& cache = caches[i];
    if (!cache.by_token) continue;
    const engine::StateRows rows = cache.rows_of(static_cast<uint64_t>(begin), count);
    read_cache(i, rows, to, rows.group_bytes());
    to += rows.size();
  }
}

SequenceRest Sequence::copy_rest() {
  const Use use(*this);
  if (!find_layout().has_rest || position() > row_limit()) {
    fail(ErrorCode::InvalidArgument, "nothing of a sequence of {} tokens is known as a whole",
         position());
  }
  settle();
  return copy_rest_here();
}

SequenceRest Sequence::copy_rest_here() {
  const auto caches = arrays(position());
  SequenceRest rest{.count = position(), .marks = marks()};
  uint64_t size = 0;
  for (const CacheArray& cache : caches) {
    if (!cache.by_token) size += cache.groups * cache.filled * cache.row_bytes();
  }
  auto memory = std::make_shared<RowMemory>(size);
  std::byte* to = memory->bytes().data();
  for (size_t i = 0; i < caches.size(); ++i) {
    const CacheArray& cache = caches[i];
    if (cache.by_token) continue;
    rest.parts.push_back({cache.first, cache.filled});
    const engine::StateRows rows = cache.filled_rows();
    if (rows.size() == 0) continue;
    read_cache(i, rows, to, rows.group_bytes());
    to += rows.size();
  }
  rest.bytes = std::move(memory);
  return rest;
}

void Sequence::append_rows(std::span<const int32_t> ids, std::span<const RowPiece> pieces,
                           const SequenceRest* rest) {
  const Use use(*this);
  check_fed_ids(*model_, ids);
  check_rows(ids, RowForm::Sight::Causal);  // runs may be copied in parts
  check_room(std::ssize(ids));
  settle();
  const int64_t begin = position(), end = begin + std::ssize(ids);
  const RowLayout layout = find_layout();
  if (layout.is_empty()) {
    fail(ErrorCode::Unsupported, "a sequence of this model keeps no rows for its tokens");
  }
  int64_t rows = 0;
  for (const RowPiece& piece : pieces) {
    check_piece(layout, piece);
    rows += piece.count;
  }
  if ((!layout.parts.empty() && rows != std::ssize(ids)) || end > layout.limit) {
    fail(ErrorCode::InvalidArgument, "{} rows for {} tokens of a sequence of {}", rows, ids.size(),
         end);
  }
  const bool fits = !layout.has_rest ? rest == nullptr : rest != nullptr && rest->count == end;
  if (!fits || (rest != nullptr && begin > 0)) {
    fail(ErrorCode::InvalidArgument,
         "a sequence of {} tokens cannot go on to {} with the rest of {}", begin, end,
         rest == nullptr ? 0 : rest->count);
  }
  const auto caches = arrays(end);
  if (rest != nullptr) check_rest(*rest, caches);

  forget_choice();
  put_rows(caches, pieces);
  if (rest != nullptr) put_rest(caches, *rest);
  runs_.begin(ids, begin);
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  finish();
  took_rows(begin);
}

// Writes the rows after those of the current tokens.
void Sequence::put_rows(const std::vector<CacheArray>& caches, std::span<const RowPiece> pieces) {
  std::vector<uint64_t> at(pieces.size());  // offset in each piece
  for (size_t i = 0; i < caches.size() && !pieces.empty(); ++i) {
    const CacheArray& cache = caches[i];
    if (!cache.by_token) continue;
    const uint64_t size = cache.row_bytes();
    auto row = static_cast<uint64_t>(position());
    for (size_t p = 0; p < pieces.size(); ++p) {
      const auto count = static_cast<uint64_t>(pieces[p].count);
      const uint64_t first = static_cast<uint64_t>(pieces[p].first) * size;
      const uint64_t stride = static_cast<uint64_t>(pieces[p].rows) * size;
      if (count > 0) {
        write_cache(i, cache.rows_of(row, count), pieces[p].bytes.data() + at[p] + first, stride);
      }
      at[p] += cache.groups * stride;
      row += count;
    }
  }
}

// The caches are zero elsewhere, or have rows of later tokens, which are not seen.
void Sequence::put_rest(const std::vector<CacheArray>& caches, const SequenceRest& rest) {
  const std::byte* from = rest.bytes->bytes().data();
  auto part = rest.parts.begin();
  for (size_t i = 0; i < caches.size(); ++i) {
    const CacheArray& cache = caches[i];
    if (cache.by_token) continue;
    const engine::StateRows rows = cache.rows_of(part->first, part->filled);
    if (rows.size() > 0) write_cache(i, rows, from, rows.group_bytes());
    from += rows.size();
    ++part;
  }
  set_marks(rest.marks);
}

}  // namespace pippin::runtime
