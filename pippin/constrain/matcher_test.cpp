#include "pippin/constrain/matcher.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/grammar_testing.h"

namespace pippin::constrain {
namespace {

// Reference implementation: which ranges of a text a symbol matches, as the least solution of the
// rules.
class Reference {
 public:
  Reference(Grammar& grammar, std::string text) : grammar_(grammar), text_(std::move(text)) {
    spans_.resize(grammar.num_rules(), std::vector<bool>((text_.size() + 1) * (text_.size() + 1)));
    for (bool changed = true; changed;) {
      changed = false;
      for (RuleId rule = 0; rule < grammar.num_rules(); ++rule) {
        for (size_t i = 0; i <= text_.size(); ++i) {
          for (size_t j = i; j <= text_.size(); ++j) {
            if (!at(rule, i, j) && has_alternative(rule, i, j)) {
              spans_[rule][i * (text_.size() + 1) + j] = true;
              changed = true;
            }
          }
        }
      }
    }
  }
  bool matches() const { return at(grammar_.root(), 0, text_.size()); }

 private:
  bool at(RuleId rule, size_t i, size_t j) const {
    return spans_[rule][i * (text_.size() + 1) + j];
  }
  bool has_alternative(RuleId rule, size_t i, size_t j) {
    for (const Sequence& sequence : grammar_.alternatives(rule)) {
      if (has_sequence(sequence, 0, i, j)) return true;
    }
    return false;
  }
  bool has_sequence(const Sequence& sequence, size_t s, size_t i, size_t j) {
    if (s == sequence.size()) return i == j;
    for (size_t k = i; k <= j; ++k) {
      const Symbol& symbol = sequence[s];
      const bool has = symbol.kind == Symbol::Kind::Rule
                           ? at(symbol.id, i, k)
                           : grammar_.regexes().matches(symbol.id, text_.substr(i, k - i));
      if (has && has_sequence(sequence, s + 1, k, j)) return true;
    }
    return false;
  }
  Grammar& grammar_;
  std::string text_;
  std::vector<std::vector<bool>> spans_;
};

TEST(Matcher, RandomGrammarsMatchAsTheirRulesSay) {
  std::mt19937 random(7);
  std::vector<std::string> texts{""};
  for (size_t i = 0; texts[i].size() < 6; ++i) {
    for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  }
  int used = 0;
  for (int round = 0; round < 600; ++round) {
    const std::shared_ptr<Grammar> grammar = random_grammar(random);
    try {
      grammar->finish();
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::InvalidArgument) << error.what();
      continue;
    }
    ++used;
    Matcher matcher(grammar);
    std::vector<std::string> accepted;
    for (const std::string& text : texts) {
      const bool wanted = Reference(*grammar, text).matches();
      ASSERT_EQ(matcher.matches(text), wanted) << "round " << round << ", text " << text;
      if (wanted) accepted.push_back(text);
    }
    // Every prefix of an accepted text is alive.
    for (const std::string& text : accepted) {
      for (size_t i = 0; i <= text.size(); ++i) {
        ASSERT_NE(matcher.step(matcher.start(), text.substr(0, i)), Matcher::kDead)
            << round << ' ' << text;
      }
    }
  }
  EXPECT_GT(used, 100);
}

TEST(Matcher, NestsWithoutEndAndComesBack) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId value = grammar->add_rule("value");
  grammar->add_alternative(value, text(*grammar, "x"));
  Sequence nested = text(*grammar, "(");
  nested.push_back(Symbol::rule(value));
  nested.push_back(Symbol::regex(grammar->regexes().literal(")")));
  grammar->add_alternative(value, nested);
  grammar->set_root(value);
  grammar->finish();
  Matcher matcher(grammar);
  EXPECT_TRUE(matcher.matches(std::string(1000, '(') + "x" + std::string(1000, ')')));
  EXPECT_FALSE(matcher.matches(std::string(1000, '(') + "x" + std::string(999, ')')));
  EXPECT_EQ(matcher.step(matcher.start(), "x)"), Matcher::kDead);
  EXPECT_EQ(matcher.only_byte(matcher.step(matcher.start(), "(x")), ')');
  EXPECT_EQ(matcher.only_byte(matcher.start()), std::nullopt);
}

TEST(Matcher, ListsDoNotPileUp) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId list = grammar->add_rule("list");
  Sequence more = text(*grammar, "a,");
  more.push_back(Symbol::rule(list));
  grammar->add_alternative(list, more);
  grammar->add_alternative(list, text(*grammar, "a"));
  grammar->set_root(list);
  grammar->finish();
  Matcher matcher(grammar);
  std::string items;
  for (int i = 0; i < 1000; ++i) items += "a,";
  EXPECT_TRUE(matcher.matches(items + "a"));
  EXPECT_LT(matcher.num_states(), 10U);
}

TEST(Matcher, LazyRulesAreMadeWhenTheyAreReached) {
  auto grammar = std::make_shared<Grammar>();
  int made = 0;
  const RuleId rule = grammar->add_lazy_rule("rest", false, [&made, g = grammar.get()] {
    ++made;
    return Grammar::Alternatives{{Symbol::regex(g->regexes().literal("b"))}};
  });
  const RuleId root = grammar->add_rule("root");
  Sequence sequence = text(*grammar, "a");
  sequence.push_back(Symbol::rule(rule));
  grammar->add_alternative(root, sequence);
  grammar->set_root(root);
  grammar->finish();
  Matcher matcher(grammar);
  EXPECT_EQ(made, 0);
  EXPECT_TRUE(matcher.matches("ab"));
  EXPECT_EQ(made, 1);
}

TEST(Matcher, TokensAreStepsOfTheirOwn) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->add_rule("root");
  Sequence sequence{grammar->add_tokens({5, 3})};
  sequence.push_back(Symbol::regex(grammar->regexes().literal("x")));
  sequence.push_back(grammar->add_tokens({3}, true));
  grammar->add_alternative(root, sequence);
  grammar->set_root(root);
  grammar->finish();
  Matcher matcher(grammar);
  EXPECT_EQ(matcher.step_token(matcher.start(), 4), Matcher::kDead);
  const StateId begun = matcher.step_token(matcher.start(), 5);
  EXPECT_FALSE(matcher.can_end(matcher.step(begun, "x")));
  EXPECT_TRUE(matcher.can_end(matcher.step_token(matcher.step(begun, "x"), 5)));
  EXPECT_EQ(matcher.step_token(matcher.step(begun, "x"), 3), Matcher::kDead);
}

TEST(Grammar, RefusesWhatHasNoTextOrBeginsWithItself) {
  Grammar endless;
  const RuleId rule = endless.add_rule("loop");
  Sequence sequence = text(endless, "a");
  sequence.push_back(Symbol::rule(rule));
  endless.add_alternative(rule, sequence);
  endless.set_root(rule);
  EXPECT_ERROR(endless.finish(), ErrorCode::InvalidArgument,
               "the grammar has no text: \"loop\" can never end");

  Grammar left;
  const RuleId sum = left.add_rule("sum"), inner = left.add_rule("inner");
  left.add_alternative(sum, {Symbol::rule(inner), Symbol::regex(left.regexes().literal("+"))});
  left.add_alternative(sum, text(left, "1"));
  left.add_alternative(inner, {Symbol::rule(sum)});
  left.set_root(sum);
  EXPECT_ERROR(left.finish(), ErrorCode::InvalidArgument,
               "of the grammar begins with itself (left recursion)");
}

}  // namespace
}  // namespace pippin::constrain
