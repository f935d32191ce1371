// The content of a tokenizer.json: a small document and, separately, the two large tables, which
// would be slow and large as JSON values (Llama 3 has 400,000 entries in its vocabulary and
// merges).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::tokenizers {

// The largest token id accepted. Tables are sized by ids, and ids come from files.
inline constexpr int64_t kMaxTokenId = (int64_t{1} << 24) - 1;

// Strings stored back to back in one allocation of less than 4 GB; the files they come from are
// smaller.
class StringPool {
 public:
  // Reserves space; more strings may be added.
  void reserve(size_t strings, size_t bytes) {
    ends_.reserve(strings);
    bytes_.reserve(bytes);
  }
  void add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  void clear() {  // keeps the allocation
    ends_.clear();
    bytes_.clear();
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const { return range(i, i + 1); }
  // Returns the strings [first, last) joined; first < last.
  std::string_view range(size_t first, size_t last) const {
    const size_t begin = begin_of(first);
    return {bytes_.data() + begin, ends_[last - 1] - begin};
  }
  // Returns the offset of string i in data().
  uint32_t begin_of(size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }
  const char* data() const { return bytes_.data(); }
  bool operator==(const StringPool&) const = default;

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

// SentencePiece's text preparation.
struct SentencePieceRules {
  std::string charsmap;  // see charsmap.h; empty: no replacements
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  bool prefix_before_space = true;  // also if the text begins with a space
};

struct JsonFile {
  std::optional<Json> root;  // an object, with null in place of the two tables
  // model.vocab if it is an object: tokens and their ids.
  bool has_vocab = false;
  StringPool vocab_tokens;
  std::vector<int32_t> vocab_ids;
  // model.vocab if it is an array: tokens in the order of their ids, and their scores.
  bool has_scores = false;
  std::vector<double> vocab_scores;
  std::vector<bool> vocab_unmatched;  // tokens that are never matched in text; may be empty
  // model.merges: 2i and 2i + 1 are the parts of merge i, whose rank is i.
  bool has_merges = false;
  StringPool merge_parts;
  // Adds the merge "a b": two tokens separated by one space. Returns false for any other text.
  // Skips "#version".
  bool add_merge(std::string_view text);

  // Settings that only other formats than tokenizer.json have.
  struct RankedMerge {
    int32_t left, right, merged;  // ids
    uint32_t rank;
  };
  std::vector<RankedMerge> ranked_merges;
  std::optional<SentencePieceRules> normalizer;  // in place of the root's
};

// Throws InvalidFile, with `name` and the position, if the text is not JSON or the tables are
// invalid; LimitExceeded beyond 1 GB or 64 levels.
JsonFile read_json_file(std::string_view text, std::string_view name);

}  // namespace pippin::tokenizers
