#include "pippin/tokenizers/vocabulary.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pippin::tokenizers {
namespace {

std::vector<int32_t> counted(size_t count) {
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

Vocabulary::Vocabulary(StringPool tokens, const std::vector<int32_t>& ids)
    : tokens_(std::move(tokens)), table_(tokens_, ids) {
  int32_t max_id = -1;
  for (const int32_t id : ids) max_id = std::max(max_id, id);
  by_id_.assign(static_cast<size_t>(max_id) + 1, -1);
  for (size_t i = 0; i < ids.size(); ++i) {
    by_id_[static_cast<size_t>(ids[i])] = static_cast<int32_t>(i);
  }
}

// Braces guarantee that the count is taken before the tokens are moved.
Vocabulary::Vocabulary(StringPool tokens)
    : Vocabulary(std::pair{counted(tokens.size()), std::move(tokens)}) {}

Vocabulary::Vocabulary(std::pair<std::vector<int32_t>, StringPool> both)
    : Vocabulary(std::move(both.second), both.first) {}

std::optional<int32_t> Vocabulary::id_of(std::string_view token) const {
  const int32_t id = table_[token];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string_view> Vocabulary::token_of(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= by_id_.size()) return std::nullopt;
  const int32_t index = by_id_[static_cast<size_t>(id)];
  if (index < 0) return std::nullopt;
  return tokens_[static_cast<size_t>(index)];
}

}  // namespace pippin::tokenizers
