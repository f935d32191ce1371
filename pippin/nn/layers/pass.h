// Values that all layers of one pass over a sequence share.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/array/array.h"
#include "pippin/mil/dim.h"

namespace pippin::nn {

// q tokens at positions [past, end).
struct Pass {
  mil::Dim past, query, end;
  array::Array mask;  // (1, 1, q, end), added to the scores
  // Of functions that take rows of embeddings, if they have these inputs: the positions of the
  // tokens in three coordinates, int32 (3, q), and the first key that windows may not hide from
  // each query, int32 (q).
  std::optional<array::Array> coordinates = std::nullopt;
  std::optional<array::Array> run_starts = std::nullopt;
  // Whether layers without a window hide later keys that the mask shows.
  bool causal_full_layers = false;
};

// The distance of each query after each key, in positions: int32 (1, 1, q, end), negative for later
// keys.
array::Array key_distances(const Pass& pass);

// The same for queries at given positions, int32 (q), over keys at given ones (keys).
array::Array key_distances(const array::Array& queries, const array::Array& keys);

// `mask`, also hiding keys `window` or more positions before the query.
array::Array window_mask(const array::Array& mask, const array::Array& distances, int64_t window);
// pass.mask, also hiding keys `window` or more positions before the query, except from
// pass.run_starts on.
array::Array window_mask(const Pass& pass, int64_t window);

// pass.mask, also hiding keys after the query.
array::Array causal_mask(const Pass& pass);

// pass.mask, also hiding keys in another block of `chunk` positions than the query.
array::Array chunk_mask(const Pass& pass, int64_t chunk);

}  // namespace pippin::nn
