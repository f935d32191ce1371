#include "pippin/constrain/constraint.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/grammar_testing.h"

namespace pippin::constrain {
namespace {

// Reference implementation: tries every token.
TokenMask tried_mask(Constraint& constraint, StateId state) {
  TokenMask mask(constraint.vocabulary().size());
  for (size_t i = 0; i < mask.vocab_size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (constraint.step(state, token) != Matcher::kDead) mask.allow(token);
  }
  return mask;
}

std::vector<std::string> random_tokens(std::mt19937& random, std::string_view alphabet,
                                       size_t count) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < count; ++i) {
    std::string token;
    for (size_t n = random() % 6; n-- > 0;) token += alphabet[random() % alphabet.size()];
    tokens.push_back(token);  // some are empty, some are repeated
  }
  return tokens;
}

// Walks through the grammar at random and compares every mask.
void compare_masks(const std::shared_ptr<Constraint>& constraint, std::mt19937& random, int steps) {
  StateId state = constraint->start();
  for (int i = 0; i < steps; ++i) {
    const TokenMask mask = *constraint->mask(state);
    ASSERT_EQ(mask, tried_mask(*constraint, state)) << "after " << i << " tokens";
    std::vector<int32_t> allowed;
    for (size_t t = 0; t < mask.vocab_size(); ++t) {
      if (mask.allows(static_cast<int32_t>(t))) allowed.push_back(static_cast<int32_t>(t));
    }
    if (allowed.empty()) break;
    state = constraint->step(state, allowed[random() % allowed.size()]);
  }
}

TEST(Constraint, MasksOfRandomGrammarsAreThoseOfEachTokenTried) {
  std::mt19937 random(11);
  int used = 0;
  for (int round = 0; round < 300; ++round) {
    const std::shared_ptr<Grammar> grammar = random_grammar(random);
    try {
      grammar->finish();
    } catch (const Error&) {
      continue;
    }
    ++used;
    const auto vocabulary = std::make_shared<Vocabulary>(random_tokens(random, "aabb\"", 60));
    compare_masks(std::make_shared<Constraint>(grammar, vocabulary), random, 12);
  }
  EXPECT_GT(used, 50);
}

TEST(Constraint, MasksOfJsonAreThoseOfEachTokenTried) {
  std::mt19937 random(13);
  for (int round = 0; round < 40; ++round) {
    const std::shared_ptr<Grammar> grammar = json_grammar();
    grammar->finish();
    std::vector<std::string> tokens =
        random_tokens(random, "a\"\\{}[],:u0-.e1\xC3\xA9\xE2\x82\xACtrue\n ", 800);
    const auto vocabulary = std::make_shared<Vocabulary>(tokens);
    compare_masks(std::make_shared<Constraint>(grammar, vocabulary), random, 30);
  }
}

// Terminals of every shape with its own path in a walk: bounded and unbounded runs of plain
// characters, with exceptions and possible ends in between.
TEST(Constraint, MasksOfRunsOfCharactersAreThoseOfEachTokenTried) {
  std::mt19937 random(17);
  const auto any = [](RegexPool& p) {
    return p.bytes(ByteSet(0x20, 0x7F) & ~ByteSet('"', '"') & ~ByteSet('\\', '\\'));
  };
  const auto wide = [&](RegexPool& p) {
    const RegexId tail = p.bytes({0x80, 0xBF});
    return p.any_of(
        std::array{any(p), p.concat(p.bytes({0xC2, 0xDF}), tail),
                   p.concat(std::array{p.bytes({0xE0, 0xE0}), p.bytes({0xA0, 0xBF}), tail}),
                   p.concat(std::array{p.bytes({0xE1, 0xEC}), tail, tail}),
                   p.concat(std::array{p.bytes({0xED, 0xED}), p.bytes({0x80, 0x9F}), tail}),
                   p.concat(std::array{p.bytes({0xEE, 0xEF}), tail, tail}),
                   p.concat(std::array{p.bytes({0xF0, 0xF0}), p.bytes({0x90, 0xBF}), tail, tail}),
                   p.concat(std::array{p.bytes({0xF1, 0xF3}), tail, tail, tail}),
                   p.concat(std::array{p.bytes({0xF4, 0xF4}), p.bytes({0x80, 0x8F}), tail, tail})});
  };
  using Make = std::function<RegexId(RegexPool&)>;
  const std::vector<Make> terminals{
      [&](RegexPool& p) { return p.repeat(wide(p), 0); },
      [&](RegexPool& p) { return p.repeat(wide(p), 0, 3); },
      [&](RegexPool& p) { return p.repeat(wide(p), 2, 5); },
      [&](RegexPool& p) { return p.concat(p.repeat(wide(p), 0), p.literal("\"")); },
      [&](RegexPool& p) { return p.concat(p.repeat(wide(p), 1, 4), p.literal("\"")); },
      [&](RegexPool& p) {
        return p.minus(p.concat(p.repeat(wide(p), 0), p.literal("\"")),
                       p.any_of(p.literal("ab\""), p.literal("b\"")));
      },
      [&](RegexPool& p) {
        return p.concat(p.repeat(p.bytes({'a', 'b'}), 0), p.literal("\""));
      },
      [&](RegexPool& p) { return p.repeat(any(p), 0, 70); },
  };
  for (const Make& make : terminals) {
    for (int round = 0; round < 10; ++round) {
      auto grammar = std::make_shared<Grammar>();
      const RuleId root = grammar->add_rule("root");
      Sequence sequence{Symbol::regex(make(grammar->regexes()))};
      sequence.push_back(text(*grammar, "ab\"a")[0]);
      grammar->add_alternative(root, sequence);
      grammar->set_root(root);
      grammar->finish();
      std::vector<std::string> tokens =
          random_tokens(random, "aaabbb\"\\ \xC3\xA9\xE2\x82\xAC", 1200);
      for (const char c : {'a', 'b', '"'}) tokens.emplace_back(1, c);
      tokens.emplace_back(100, 'a');
      compare_masks(std::make_shared<Constraint>(grammar, std::make_shared<Vocabulary>(tokens)),
                    random, 12);
    }
  }
}

TEST(Constraint, GoesBackToWhereItWas) {
  const std::shared_ptr<Grammar> grammar = json_grammar();
  grammar->finish();
  const auto vocabulary = std::make_shared<Vocabulary>(
      std::vector<std::string>{"{\"", "a", "\":", "[1", ",2", "]}", "", "\"", "}"});
  ConstrainedText text(std::make_shared<Constraint>(grammar, vocabulary));
  std::vector<TokenMask> masks;
  for (const int32_t token : {0, 1, 2, 3, 4, 5}) {
    masks.push_back(*text.mask());
    ASSERT_TRUE(text.accept(token)) << token;
  }
  EXPECT_TRUE(text.can_end());
  EXPECT_TRUE(text.is_complete());
  for (size_t i = masks.size(); i-- > 0;) {
    text.rollback(1);
    EXPECT_EQ(*text.mask(), masks[i]) << i;
  }
  EXPECT_FALSE(text.accept(5));
  EXPECT_FALSE(text.accept(6));  // a special token is not text
  EXPECT_FALSE(text.accept(99));
  EXPECT_EQ(text.size(), 0U);
}

TEST(Constraint, TellsTheTextThatHasToCome) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->add_rule("root");
  Sequence sequence = text(*grammar, "{\"name\":");
  sequence.push_back(Symbol::regex(grammar->regexes().any_of(
      grammar->regexes().literal("\"ann\""), grammar->regexes().literal("\"anton\""))));
  sequence.push_back(text(*grammar, "}")[0]);
  grammar->add_alternative(root, sequence);
  grammar->set_root(root);
  grammar->finish();
  const auto vocabulary =
      std::make_shared<Vocabulary>(std::vector<std::string>{"{", "\"name\":\"an", "n", "t"});
  ConstrainedText text(std::make_shared<Constraint>(grammar, vocabulary));
  EXPECT_EQ(text.forced_text(100), "{\"name\":\"an");
  EXPECT_EQ(text.forced_text(3), "{\"n");
  ASSERT_TRUE(text.accept(0) && text.accept(1) && text.accept(3));
  EXPECT_EQ(text.forced_text(100), "on\"}");
}

}  // namespace
}  // namespace pippin::constrain
