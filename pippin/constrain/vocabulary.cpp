#include "pippin/constrain/vocabulary.h"

#include <optional>
#include <utility>

#include "pippin/constrain/utf8.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::constrain {

namespace {

// Returns the number of characters if the bytes are plain text.
std::optional<size_t> plain_characters(std::string_view bytes) {
  size_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++count) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < 0x20 || byte == '"' || byte == '\\') return std::nullopt;
    const size_t length = utf8_length(bytes.substr(i));
    if (length == 0) return std::nullopt;
    i += length;
  }
  return count;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  std::vector<TokenTrie::Entry> plain, others;
  std::vector<std::vector<int32_t>> by_length(kLongRun + 1);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].empty()) continue;
    const auto id = static_cast<int32_t>(i);
    const std::optional<size_t> characters = plain_characters(tokens_[i]);
    if (characters.has_value() && *characters <= kLongRun) {
      plain.push_back({tokens_[i], id});
      by_length[*characters].push_back(id);
    } else {
      others.push_back({tokens_[i], id});
    }
  }
  plain_ = TokenTrie(std::move(plain));
  others_ = TokenTrie(std::move(others));
  TokenMask mask(tokens_.size());
  for (size_t length = 0; length <= kLongRun; ++length) {
    for (const int32_t id : by_length[length]) mask.allow(id);
    plain_up_to_[length] = mask;
  }
}

std::shared_ptr<Vocabulary> Vocabulary::of(const Tokenizer& tokenizer) {
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (!tokenizer.is_special(id)) tokens[i] = tokenizer.token_bytes(id);
  }
  return std::make_shared<Vocabulary>(std::move(tokens));
}

std::shared_ptr<const TerminalTokens> Vocabulary::find(const RegexDigest& digest) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_digest_.find(digest);
  if (it == by_digest_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it->second);
  return it->second->tokens;
}

void Vocabulary::keep(const RegexDigest& digest, std::shared_ptr<const TerminalTokens> tokens,
                      size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (by_digest_.contains(digest)) return;
  kept_.push_front({digest, std::move(tokens), bytes});
  by_digest_.emplace(digest, kept_.begin());
  kept_bytes_ += bytes;
  while (kept_bytes_ > kMaxCachedBytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.back().bytes;
    by_digest_.erase(kept_.back().digest);
    kept_.pop_back();
  }
}

}  // namespace pippin::constrain
