// SentencePiece's table of replacements, compiled into one blob ("precompiled_charsmap"): a
// double-array trie (Aoe, 1989, as Darts-clone packs it) whose values are places in a block of
// texts that end with NUL.
//
//   uint32 trie_bytes | trie, uint32 units | replacements
//   unit: bits 0-7 and 31 label, 8 has a leaf, 10-30 offset (times 256 where bit 9 is set);
//         a leaf's bits 0-30 are its value
//
// Blobs come from files: a place outside the trie or the texts ends a search like a missing entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

class Charsmap {
 public:
  // Throws InvalidFile, starting with `place`, for sizes that do not fit.
  Charsmap(std::string_view blob, std::string_view place);

  struct Match {
    size_t length;  // of the text that is replaced
    std::string_view replacement;
  };
  // The shortest or the longest entry that begins `text`.
  std::optional<Match> shortest(std::string_view text) const { return find(text, true); }
  std::optional<Match> longest(std::string_view text) const { return find(text, false); }

 private:
  std::optional<Match> find(std::string_view text, bool first) const;
  std::optional<std::string_view> replacement(uint32_t place) const;

  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace pippin::tokenizers
