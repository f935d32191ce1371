// A context-free grammar whose terminals are regular expressions over bytes and sets of tokens.
//
// A terminal is a language, not a lexeme of a scanner: a text is in the grammar if some split of it
// into strings of the terminals matches, as if they were rules. So a rule without recursion and a
// regular expression for it have the same meaning; the expression is faster.
//
// Rules may be made on demand (add_lazy_rule): the continuations of a JSON object depend on the
// keys that it has, and there are too many such rules to make them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

using RuleId = uint32_t;

struct Symbol {
  enum class Kind : uint8_t { Regex, Rule, Tokens };
  Kind kind = Kind::Regex;
  uint32_t id = 0;  // RegexId, RuleId, or the result of add_tokens()

  static Symbol regex(RegexId id) { return {Kind::Regex, id}; }
  static Symbol rule(RuleId id) { return {Kind::Rule, id}; }
  friend bool operator==(const Symbol&, const Symbol&) = default;
};
using Sequence = std::vector<Symbol>;  // concatenation; empty: the empty text

// In steps of work (work.h). Grammars and schemas collected from real use take up to 0.4 million to
// compile and 0.6 million for a mask, with a vocabulary of 150,000 tokens.
struct WorkLimits {
  uint64_t compile = 200'000'000;  // to compile a grammar and find its first terminals
  uint64_t mask = 10'000'000;      // to compute a mask, or to accept a token
};

struct GrammarLimits {
  RegexLimits regexes;
  WorkLimits work;
  size_t max_rules = 200'000;
  size_t max_symbols = 2'000'000;  // total of all rules
};

// Not thread-safe. Functions that make rules throw LimitExceeded beyond the limits.
class Grammar {
 public:
  explicit Grammar(const GrammarLimits& limits = {});

  RegexPool& regexes() { return regexes_; }
  const RegexPool& regexes() const { return regexes_; }

  // Adds a rule without alternatives, which matches nothing until it gets some. Names are for
  // messages.
  RuleId add_rule(std::string name);
  void add_alternative(RuleId rule, Sequence sequence);
  // Adds a rule whose alternatives are made on first use. `nullable`: whether one of them can be
  // the empty text. Each alternative must have some text.
  using Alternatives = std::vector<Sequence>;
  RuleId add_lazy_rule(std::string name, bool nullable, std::function<Alternatives()> make);
  // Matches one token: one of `ids` or, if `negated`, any other, including special tokens.
  Symbol add_tokens(std::vector<int32_t> ids, bool negated = false);
  void set_root(RuleId root) { root_ = root; }

  // Completes the grammar and removes alternatives without texts. Throws InvalidArgument if the
  // grammar has no text, or if a rule is left-recursive, naming the rule.
  void finish();

  // --- for a finished grammar ---
  RuleId root() const { return root_; }
  const Alternatives& alternatives(RuleId rule);
  bool is_nullable(RuleId rule) const { return rules_[rule].nullable; }
  bool is_nullable(const Symbol& symbol) const;
  // Returns a height greater than that of every rule that can begin this one.
  uint32_t height(RuleId rule);
  bool allows_token(uint32_t tokens, int32_t id) const;
  struct TokenSet {
    std::vector<int32_t> ids;  // sorted
    bool negated = false;
  };
  const TokenSet& tokens(uint32_t tokens) const { return token_sets_[tokens]; }
  size_t num_rules() const { return rules_.size(); }
  const GrammarLimits& limits() const { return limits_; }

 private:
  struct Rule {
    std::string name;
    Alternatives alternatives;
    std::function<Alternatives()> make;  // until the alternatives are made
    bool nullable = false;
    uint32_t height = 0;  // 0: unknown
  };
  void count(const Sequence& sequence);
  // Returns which rules hold: an alternative holds if all its symbols do, a rule if one of its
  // alternatives does.
  template <typename Holds>
  std::vector<bool> least_fixpoint(const Holds& holds);
  void find_nullable();
  void drop_unproductive();
  std::vector<RuleId> begins_with(RuleId rule);

  GrammarLimits limits_;
  RegexPool regexes_;
  std::deque<Rule> rules_;  // a deque, for stable addresses
  std::vector<TokenSet> token_sets_;
  RuleId root_ = 0;
  size_t num_symbols_ = 0;
};

}  // namespace pippin::constrain
