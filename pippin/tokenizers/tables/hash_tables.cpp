#include "pippin/tokenizers/tables/hash_tables.h"

#include <algorithm>

namespace pippin::tokenizers {

TokenTable::TokenTable(const StringPool& tokens, const std::vector<int32_t>& ids)
    : tokens_(&tokens), slots_(std::bit_ceil(tokens.size() + tokens.size() / 2 + 2)) {
  constexpr size_t kBlock = 32;  // slots that are prefetched together
  uint64_t hashes[kBlock];
  for (size_t begin = 0; begin < tokens.size(); begin += kBlock) {
    const size_t here = std::min(kBlock, tokens.size() - begin);
    for (size_t i = 0; i < here; ++i) {
      hashes[i] = hash_of(tokens[begin + i]);
      prefetch(hashes[i]);
    }
    for (size_t i = 0; i < here; ++i) {
      const std::string_view token = tokens[begin + i];
      Slot& slot = slots_[find(token, hashes[i])];
      if (slot.id < 0) ++size_;
      slot.word = token.size() <= kShortText
                      ? short_text(token)
                      : uint64_t{tokens.begin_of(begin + i)} << 32 | (hashes[i] & 0xFFFFFFFFu);
      slot.size = static_cast<uint32_t>(token.size());
      slot.id = ids[begin + i];
    }
  }
}

}  // namespace pippin::tokenizers
