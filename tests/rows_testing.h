// For tests only: rows of embeddings in prompts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/byte_span.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::testing_models {

using SharedRows = std::shared_ptr<const runtime::EmbeddedRows>;

// Rows with the digest of their values and grid.
inline SharedRows made_rows(std::vector<float> values, int64_t width,
                            const std::array<int64_t, 3>& grid = {}) {
  runtime::EmbeddedRows rows;
  Digest digest = Digest::sha256();
  digest.update(std::as_bytes(std::span(values)));
  digest.update(std::as_bytes(std::span(grid)));
  rows.digest = digest.finish();
  rows.count = std::ssize(values) / width;
  rows.width = width;
  rows.values = std::move(values);
  rows.grid = grid;
  return std::make_shared<const runtime::EmbeddedRows>(std::move(rows));
}

inline int64_t most_likely(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace pippin::testing_models
