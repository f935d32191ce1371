// Added tokens, which are found in the text before any other stage runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pippin/tokenizers/models.h"
#include "pippin/tokenizers/normalizers.h"
#include "pippin/tokenizers/piece.h"
#include "pippin/tokenizers/stages.h"
#include "pippin/tokenizers/tables/hash_tables.h"

namespace pippin::tokenizers {

struct AddedToken {
  std::string content;
  bool single_word, lstrip, rstrip, normalized, special;
  std::string normalized_content;  // the normalized content, if it is needed
};

// Finds the longest string of a set that begins at a position.
class Trie {
 public:
  void add(std::string_view text, int32_t value);
  struct Found {
    int32_t value = -1;
    size_t end = 0;
  };
  Found longest_at(std::string_view text, size_t position) const;

 private:
  struct Node {
    int32_t value = -1;
    std::vector<std::pair<char, uint32_t>> children;  // sorted
  };
  std::vector<Node> nodes_{1};
};

class AddedVocabulary {
 public:
  // `config` is the array of added tokens, or null. A token that the model has keeps the model's
  // id; the others are numbered from the model's size on, regardless of the ids in the file.
  AddedVocabulary(const std::optional<Json>& config, const Model& model,
                  const Normalizer* normalizer);

  // Splits the text into pieces: normalized text, and the added tokens.
  Pieces extract(std::string_view text, const Normalizer* normalizer) const;

  int32_t max_id() const { return by_id_.empty() ? -1 : by_id_.rbegin()->first; }
  const AddedToken* find(int32_t id) const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // Returns whether `text` is the text of a special token, which decoding without special tokens
  // skips.
  bool is_special_text(std::string_view text) const { return special_.contains(text); }

 private:
  void add(AddedToken token, const Model& model, const Normalizer* normalizer, int32_t& next_id);
  void cut(const Piece& piece, const Trie& trie, Pieces& pieces) const;

  std::map<int32_t, AddedToken> by_id_;
  std::map<std::string, int32_t, std::less<>> ids_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> special_;
  Trie plain_, normalized_;
};

}  // namespace pippin::tokenizers
