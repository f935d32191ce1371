#include "pippin/constrain/gbnf/gbnf.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/io/json.h"

namespace pippin::constrain {
namespace {

std::shared_ptr<Grammar> compiled(std::string_view text, const GbnfOptions& options = {}) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->add_rule("start");
  grammar->add_alternative(root, {add_gbnf(*grammar, text, options)});
  grammar->set_root(root);
  grammar->finish();
  return grammar;
}

bool accepts(std::string_view grammar, std::string_view text) {
  return Matcher(compiled(grammar)).matches(text);
}

TEST(Gbnf, RepetitionsOfWhatMayBeEmptyMeanTheSame) {
  // These are recursive, so none is a single expression.
  const std::string_view nested = "root ::= item*\nitem ::= \"(\" root \")\" | [a-c]?";
  EXPECT_TRUE(accepts(nested, ""));
  EXPECT_TRUE(accepts(nested, "(a(b)c)()"));
  EXPECT_FALSE(accepts(nested, "(a"));
  const std::string_view counted = "root ::= pair{2,3}\npair ::= \"<\" root \">\" | \"x\"? \"y\"?";
  EXPECT_TRUE(accepts(counted, ""));
  EXPECT_TRUE(accepts(counted, "xyxy<>"));
  EXPECT_TRUE(accepts(counted, "xyxyxy"));
  EXPECT_FALSE(accepts(counted, "xyxyxyx"));
}

TEST(Gbnf, RulesAndExpressionsMeanTheSame) {
  // The same arithmetic, once small enough for an expression and once not.
  const std::string_view flat = "root ::= num (\"+\" num)*\nnum ::= [0-9]+";
  EXPECT_TRUE(accepts(flat, "1+22+3"));
  EXPECT_FALSE(accepts(flat, "1+"));
  const std::string_view deep = "root ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" root \")\"";
  EXPECT_TRUE(accepts(deep, "1+(22+(3))+4"));
  EXPECT_FALSE(accepts(deep, "1+(22+(3)+4"));
}

TEST(Gbnf, BrokenGrammarsAreRefusedWithLineAndColumn) {
  const auto compile = [](std::string_view text) { compiled(text); };
  EXPECT_ERROR(compile("root ::= expr\n\nexpr ::= nothing"), ErrorCode::InvalidArgument,
               "grammar, line 3, column 17: the rule \"nothing\" is not defined");
  EXPECT_ERROR(compile("root ::= \"a"), ErrorCode::InvalidArgument,
               "grammar, line 1, column 12: a literal is not closed");
  EXPECT_ERROR(compile("root ::= [a-"), ErrorCode::InvalidArgument,
               "a character class is not closed");
  EXPECT_ERROR(compile("root ::= (\"a\""), ErrorCode::InvalidArgument, "a \"(\" is not closed");
  EXPECT_ERROR(compile("root ::= \"a\"{2,1}"), ErrorCode::InvalidArgument,
               "a repetition's bounds are out of order");
  EXPECT_ERROR(compile("root ::= \"\\q\""), ErrorCode::InvalidArgument,
               "grammar, line 1, column 12: an unknown escape");
  EXPECT_ERROR(compile("root: \"a\""), ErrorCode::InvalidArgument,
               "grammar, line 1, column 5: expected ::= after the name of a rule");
  EXPECT_ERROR(compile("root ::= \"a\" ;"), ErrorCode::InvalidArgument,
               "expected a line's end after a rule");
  EXPECT_ERROR(compile("a ::= \"a\""), ErrorCode::InvalidArgument, "grammar: no rule \"root\"");
  EXPECT_ERROR(compile("root ::= \"a\"\nroot ::= \"b\""), ErrorCode::InvalidArgument,
               "the rule \"root\" is defined twice");
  EXPECT_ERROR(compile(""), ErrorCode::InvalidArgument, "grammar: no rules");
  EXPECT_ERROR(compile("root ::= root \"a\" | \"b\""), ErrorCode::InvalidArgument,
               "begins with itself (left recursion)");
  EXPECT_ERROR(compile("root ::= \"a\" root"), ErrorCode::InvalidArgument,
               "the grammar has no text");
  EXPECT_ERROR(compile("root ::= <think>"), ErrorCode::InvalidArgument,
               "grammar, line 1, column 10: <think> is not one token of this model");
  EXPECT_ERROR(compile("root ::= " + std::string(1000, '(') + "\"a\""), ErrorCode::LimitExceeded,
               "groups are nested more than 300 deep");
  EXPECT_ERROR(compile("root ::= (\"a\" root \"b\"){5,20000} | \"c\""), ErrorCode::LimitExceeded,
               "takes more than 10000 rules");
}

TEST(Gbnf, TokensAreNamedByNumberOrText) {
  GbnfOptions options;
  options.token_of = [](std::string_view text) {
    return text == "<think>" ? std::optional<int32_t>(7) : std::nullopt;
  };
  Matcher matcher(compiled("root ::= <think> !<[8]>* <[8]> \"x\"", options));
  StateId state = matcher.step_token(matcher.start(), 7);
  EXPECT_NE(state, Matcher::kDead);
  state = matcher.step_token(state, 3);
  state = matcher.step_token(state, 8);
  EXPECT_TRUE(matcher.can_end(matcher.step(state, "x")));
}

// A case is a string, or a list of strings and tokens, in which each character is a token.
StateId step(Matcher& matcher, const Json& text) {
  StateId state = matcher.start();
  if (text.is_string()) return matcher.step(state, text.as_string());
  for (const Json& part : text.elements()) {
    if (part.is_object()) {
      state = matcher.step_token(state, static_cast<int32_t>(part.get_int("token")));
      continue;
    }
    // A token that is not in the grammar.
    for (const char c : part.as_string()) {
      state = matcher.either(matcher.step(state, static_cast<uint8_t>(c)),
                             matcher.step_token(state, 1000));
    }
  }
  return state;
}

TEST(Gbnf, CollectedGrammarsAcceptAndRefuseAsTheyShould) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(files, "serving/grammars");
  int grammars = 0, texts = 0;
  for (const auto& file : files) {
    if (file.extension() != ".jsonl") continue;
    const std::string name = file.filename();
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const Json one = Json::parse(line, name);
      const std::string kind = one.get_string("kind"), called = one.get_string("name");
      if (kind != "gbnf" && kind != "regex") continue;
      ++grammars;
      const std::string doubtful = one.has("doubtful") ? one.at("doubtful").dump() : "";
      std::shared_ptr<Grammar> grammar;
      std::string error;
      try {
        if (kind == "gbnf") {
          grammar = compiled(one.get_string("text"), {.root = one.get_string_or("root", "root")});
        } else {
          grammar = std::make_shared<Grammar>();
          const RuleId root = grammar->add_rule("root");
          grammar->add_alternative(
              root, {Symbol::regex(whole_pattern(grammar->regexes(), one.get_string("text"),
                                                 Writing::Utf8, "regex"))});
          grammar->set_root(root);
          grammar->finish();
        }
      } catch (const Error& thrown) {
        error = thrown.what();
        grammar = nullptr;
      }
      const bool must_fail = one.get_bool("must_fail");
      if (doubtful.find("must_fail") == std::string::npos &&
          one.get_string_or("note", "").find("size") == std::string::npos) {
        EXPECT_EQ(grammar == nullptr, must_fail) << called << ": " << error << "\n"
                                                 << one.get_string("text");
      }
      if (grammar == nullptr) continue;
      Matcher matcher(grammar);
      for (const bool wanted : {true, false}) {
        const auto list = one.find(wanted ? "accept" : "refuse");
        if (!list.has_value()) continue;
        for (const Json& text : list->elements()) {
          if (doubtful.find(text.dump()) != std::string::npos) continue;
          ++texts;
          EXPECT_EQ(matcher.can_end(step(matcher, text)), wanted)
              << called << ": " << text.dump() << "\n"
              << one.get_string("text");
        }
      }
    }
  }
  EXPECT_GT(grammars, 40);
  EXPECT_GT(texts, 140);
}

}  // namespace
}  // namespace pippin::constrain
