// The tokens of a tokenizer as bytes, and a cache of results that masks share between grammars.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/constrain/regex_pool.h"
#include "pippin/constrain/token_mask.h"
#include "pippin/constrain/token_trie.h"

namespace pippin {
class Tokenizer;
}

namespace pippin::constrain {

struct TerminalTokens;  // terminal_tokens.h

class Vocabulary {
 public:
  // Indexed by id; tokens without bytes (special tokens, holes) are never text.
  explicit Vocabulary(std::vector<std::string> tokens);
  // Special tokens have no bytes, because text cannot contain them.
  static std::shared_ptr<Vocabulary> of(const Tokenizer& tokenizer);

  size_t size() const { return tokens_.size(); }
  // The bytes that a token adds to the text.
  std::string_view bytes(int32_t token) const { return tokens_[static_cast<size_t>(token)]; }

  // Plain text is text that a JSON string holds unescaped: whole characters, without control
  // characters, quotes and backslashes. Most tokens are plain, and inside strings they are
  // interchangeable.
  static constexpr size_t kLongRun = 64;
  const TokenTrie& plain() const { return plain_; }
  const TokenTrie& others() const { return others_; }
  // The plain tokens of at most `characters` characters; kLongRun: all.
  const TokenMask& plain_up_to(size_t characters) const { return plain_up_to_[characters]; }
  // Tokens of more than kLongRun characters do not count as plain.

  // Cached results for expressions; the least recently used are dropped beyond kMaxCachedBytes.
  // Thread-safe.
  std::shared_ptr<const TerminalTokens> find(const RegexDigest& digest) const;
  void keep(const RegexDigest& digest, std::shared_ptr<const TerminalTokens> tokens,
            size_t bytes) const;

  static constexpr size_t kMaxCachedBytes = size_t{64} << 20;

 private:
  struct DigestHash {
    size_t operator()(const RegexDigest& digest) const { return digest.low; }
  };
  struct Kept {
    RegexDigest digest;
    std::shared_ptr<const TerminalTokens> tokens;
    size_t bytes;
  };

  std::vector<std::string> tokens_;
  TokenTrie plain_, others_;
  std::array<TokenMask, kLongRun + 1> plain_up_to_;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // most recently used first
  mutable std::unordered_map<RegexDigest, std::list<Kept>::iterator, DigestHash> by_digest_;
  mutable size_t kept_bytes_ = 0;
};

}  // namespace pippin::constrain
