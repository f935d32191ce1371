// Maps the tokens of a model to ids and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/tokenizers/tables/hash_tables.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

class Vocabulary {
 public:
  // If a token is listed twice, the later id wins; if two tokens share an id, the later token wins.
  // Ids are from 0 to kMaxTokenId.
  Vocabulary(StringPool tokens, const std::vector<int32_t>& ids);
  // Tokens in the order of their ids.
  explicit Vocabulary(StringPool tokens);
  Vocabulary(const Vocabulary&) = delete;  // the table points to the tokens
  Vocabulary& operator=(const Vocabulary&) = delete;

  int32_t size() const { return table_.size(); }  // distinct tokens
  int32_t max_id() const { return static_cast<int32_t>(by_id_.size()) - 1; }
  // Returns -1 if the token is missing.
  int32_t operator[](std::string_view token) const { return table_[token]; }
  const TokenTable& table() const { return table_; }
  std::optional<int32_t> id_of(std::string_view token) const;
  std::optional<std::string_view> token_of(int32_t id) const;
  const StringPool& tokens() const { return tokens_; }

 private:
  explicit Vocabulary(std::pair<std::vector<int32_t>, StringPool> both);

  StringPool tokens_;
  std::vector<int32_t> by_id_;  // index into tokens_, -1 if unused
  TokenTable table_;
};

}  // namespace pippin::tokenizers
