// Classifies the tokens of a vocabulary for a terminal that is being read. The result depends only
// on the expression for the rest of the terminal, so it is computed once for all places, requests
// and grammars with that rest, such as the inside of a JSON string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pippin/constrain/regex_pool.h"
#include "pippin/constrain/token_mask.h"
#include "pippin/constrain/token_trie.h"
#include "pippin/constrain/vocabulary.h"

namespace pippin::constrain {

struct TerminalTokens {
  // Tokens that lie completely in the terminal, whatever follows it: the plain ones of at most
  // `plain_characters` characters, and `more`, or `inside` if there are many.
  size_t plain_characters = 0;
  std::vector<int32_t> more;
  TokenMask inside;
  // Other tokens in which the terminal can end, by their bytes after the end.
  TokenTrie behind;

  size_t bytes() const;
};

// Not thread-safe.
class TerminalReader {
 public:
  TerminalReader(RegexPool& regexes, std::shared_ptr<const Vocabulary> vocabulary);

  // `rest` must not be kNothing. Throws as RegexPool.
  const TerminalTokens& read(RegexId rest);

 private:
  struct Walk;
  class States;
  std::shared_ptr<const TerminalTokens> find_out(RegexId rest);
  void walk(const TokenTrie& trie, RegexId rest, bool is_plain, Walk& found);
  // The number of plain characters that can follow, if it does not matter which; kLongRun: any
  // number.
  struct PlainRun {
    size_t characters = 0;
    bool can_end = false;  // at some point of the run
  };
  std::optional<PlainRun> plain_run(RegexId rest);
  // Returns whether any plain text can follow, as far as a few states show.
  bool is_safe(RegexId rest);
  // The distinct expressions after one plain character.
  const std::vector<RegexId>& after_plain(RegexId rest);

  RegexPool& regexes_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::unordered_map<RegexId, std::shared_ptr<const TerminalTokens>> known_;
  std::unordered_map<RegexId, std::vector<RegexId>> after_plain_;
  std::unordered_map<RegexId, bool> safe_;
};

}  // namespace pippin::constrain
