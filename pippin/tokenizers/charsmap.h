// SentencePiece's table of replacements, compiled into one blob ("precompiled_charsmap"): a
// double-array trie (Aoe, 1989, in Darts-clone's layout) whose values are offsets in a block of
// NUL-terminated texts.
//
//   uint32 trie_bytes | trie, uint32 units | replacements
//   unit: bits 0-7 and 31 label, 8 has a leaf, 10-30 offset (times 256 if bit 9 is set);
//         a leaf's bits 0-30 are its value
//
// Blobs come from files: an offset outside the trie or the texts ends a search as a missing entry
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

class Charsmap {
 public:
  // Throws InvalidFile, starting with `place`, if the sizes do not fit the blob.
  Charsmap(std::string_view blob, std::string_view place);

  struct Match {
    size_t length;  // bytes of text to replace
    std::string_view replacement;
  };
  // Return the shortest or longest entry that is a prefix of `text`.
  std::optional<Match> shortest(std::string_view text) const { return find(text, true); }
  std::optional<Match> longest(std::string_view text) const { return find(text, false); }

 private:
  std::optional<Match> find(std::string_view text, bool first) const;
  std::optional<std::string_view> replacement(uint32_t place) const;

  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace pippin::tokenizers
