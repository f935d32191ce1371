// What the tokens of a vocabulary do to a terminal that is being read. It depends on nothing but
// the expression that is left of it, so that it is found out once for all places, requests and
// grammars where that is the same: inside of a JSON string, say.
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
  // Tokens that can be read to their end, whatever comes behind the terminal: the plain ones of at
  // most so many characters, and more of them; or, if they are many, `inside`.
  size_t plain_characters = 0;
  std::vector<int32_t> more;
  TokenMask inside;
  // Of the others those in which the terminal can end, by their bytes from there on.
  TokenTrie behind;

  size_t bytes() const;
};

// Not for several threads at once.
class TerminalReader {
 public:
  TerminalReader(RegexPool& regexes, std::shared_ptr<const Vocabulary> vocabulary);

  // Of an expression that is not nothing. Throws as RegexPool.
  const TerminalTokens& read(RegexId rest);

 private:
  struct Walk;
  class States;
  std::shared_ptr<const TerminalTokens> find_out(RegexId rest);
  void walk(const TokenTrie& trie, RegexId rest, bool is_plain, Walk& found);
  // How many characters of plain text can follow, if it does not matter which; kLongRun: any
  // number.
  struct PlainRun {
    size_t characters = 0;
    bool can_end = false;  // somewhere on the way
  };
  std::optional<PlainRun> plain_run(RegexId rest);
  // Whether any plain text can follow, as far as a few states tell.
  bool is_safe(RegexId rest);
  // What plain characters lead to, each once.
  const std::vector<RegexId>& after_plain(RegexId rest);

  RegexPool& regexes_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::unordered_map<RegexId, std::shared_ptr<const TerminalTokens>> known_;
  std::unordered_map<RegexId, std::vector<RegexId>> after_plain_;
  std::unordered_map<RegexId, bool> safe_;
};

}  // namespace pippin::constrain
