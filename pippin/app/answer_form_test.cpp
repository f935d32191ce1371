#include "pippin/app/answer_form.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "pippin/app/open/open_model.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/constrained_sampling.h"
#include "pippin/runtime/sampling/sampler.h"
#include "pippin/runtime/text.h"

namespace pippin::app {
namespace {

const Tokenizer& demo_tokenizer() {
  static const Tokenizer kTokenizer = open_model({}).tokenizer;
  return kTokenizer;
}

// Whether the tokens of a text are allowed, and the text may end there.
bool takes(FormCompiler& compiler, const AnswerForm& form, std::string_view text) {
  constrain::ConstrainedText constrained(compiler.compile(form));
  for (const int32_t id : demo_tokenizer().encode(text, false)) {
    const bool allowed = constrained.mask()->allows(id);
    EXPECT_EQ(allowed, constrained.accept(id)) << "mask and step differ at token " << id;
    if (!allowed) return false;
  }
  return constrained.can_end();
}

TEST(AnswerForm, EachKindIsCompiled) {
  FormCompiler compiler(demo_tokenizer());
  const auto last_token_counts = [&](const AnswerForm& form, std::string_view good,
                                     std::string_view bad) {
    constrain::ConstrainedText constrained(compiler.compile(form));
    for (const auto& [text, wanted] : {std::pair(good, true), std::pair(bad, false)}) {
      const size_t before = constrained.size();
      bool all = true;
      for (const int32_t id : demo_tokenizer().encode(text, false))
        all = all && constrained.accept(id);
      EXPECT_EQ(all && constrained.can_end(), wanted) << text;
      constrained.rollback(constrained.size() - before);
    }
  };
  using Kind = AnswerForm::Kind;
  last_token_counts({.kind = Kind::JsonSchema, .text = R"({"type":"integer"})"}, "42", "4a");
  last_token_counts({.kind = Kind::JsonObject}, R"({"a":[1,null]})", "[1]");
  last_token_counts({.kind = Kind::Regex, .text = "[a-c]{2}"}, "ab", "abc");
  last_token_counts({.kind = Kind::Choice, .choices = {"yes", "no"}}, "no", "maybe");
  last_token_counts({.kind = Kind::Grammar, .text = "root ::= \"x\" root \"y\" | \"z\""}, "xxzyy",
                    "xzyy");
}

// Forced tokens give the same text whether fed together or one by one.
TEST(AnswerForm, WhatHasToComeIsWrittenTogether) {
  const runtime::LoadedModel loaded = open_model({});
  FormCompiler compiler(loaded.tokenizer);
  const AnswerForm form{
      .kind = AnswerForm::Kind::JsonSchema,
      .text = R"({"type":"object","properties":{"first_name":{"type":"string","maxLength":5},)"
              R"("favourite_animal":{"enum":["fox","hen"]}},"required":["first_name",)"
              R"("favourite_animal"],"additionalProperties":false})"};
  std::vector<std::string> texts;
  size_t most_certain = 0;
  for (const double temperature : {0.0, 1.0}) {
    for (const bool together : {false, true}) {
      runtime::TextOptions options;
      options.max_tokens = 100;
      options.sampling.temperature = temperature;
      options.processors.push_back(std::make_shared<runtime::ConstrainedSampling>(
          compiler.compile(form), std::vector<int32_t>(), demo_tokenizer()));
      if (together) {
        const auto sequence = loaded.model->new_sequence();
        const auto prompt = loaded.tokenizer.encode("A fox");
        texts.push_back(runtime::generate_text(*sequence, loaded.tokenizer, prompt, options,
                                               runtime::text_only([](auto) { return true; }))
                            .text);
        continue;
      }
      // The same with one pass per token.
      runtime::Sampler sampler(options.sampling);
      sampler.add(options.processors[0]->clone());
      const auto sequence = loaded.model->new_sequence();
      const auto prompt = loaded.tokenizer.encode("A fox");
      sampler.observe(prompt);
      std::vector<int32_t> ids;
      auto logits = sequence->prefill(prompt);
      while (true) {
        most_certain = std::max(most_certain, sampler.certain().size());
        ids.push_back(sampler.sample(logits));
        if (sampler.must_end()) break;
        logits = sequence->decode(ids.back());
      }
      texts.push_back(loaded.tokenizer.decode(ids));
    }
    EXPECT_EQ(texts[texts.size() - 2], texts.back());
  }
  EXPECT_GE(most_certain, 3U);  // in ","favourite_animal":"
}

TEST(AnswerForm, ThoughtsMayComeBefore) {
  FormCompiler compiler(demo_tokenizer());
  AnswerForm form{.kind = AnswerForm::Kind::Choice, .choices = {"yes"}};
  form.thoughts = AnswerForm::Thoughts{{"<think>", {}}, {"</think>", {}}, false};
  EXPECT_TRUE(takes(compiler, form, "yes"));
  EXPECT_TRUE(takes(compiler, form, "<think>let me < see</think>\n\nyes"));
  form.thoughts->is_open = true;
  EXPECT_TRUE(takes(compiler, form, "hm</think>yes"));
}

TEST(AnswerForm, TheSameFormIsCompiledOnce) {
  FormCompiler compiler(demo_tokenizer());
  const AnswerForm form{.kind = AnswerForm::Kind::Regex, .text = "a+"};
  const auto first = compiler.compile(form);
  EXPECT_EQ(compiler.compile(form), first);
  EXPECT_NE(compiler.compile({.kind = AnswerForm::Kind::Regex, .text = "a*"}), first);
}

TEST(AnswerForm, ItsWorkIsLimited) {
  const AnswerForm form{.kind = AnswerForm::Kind::Regex, .text = "(a|b)*a(a|b){12}"};
  FormCompiler little(demo_tokenizer(), {.work = {.compile = 1000}});
  EXPECT_ERROR(little.compile(form), ErrorCode::LimitExceeded,
               "the form takes more than 1000 steps of work");
  EXPECT_EQ(little.find(form), nullptr);
  FormCompiler enough(demo_tokenizer());
  const auto compiled = enough.compile(form);
  EXPECT_EQ(enough.find(form), compiled);
}

TEST(AnswerForm, WhatIsBrokenIsRefused) {
  FormCompiler compiler(demo_tokenizer());
  EXPECT_ERROR(compiler.compile({.kind = AnswerForm::Kind::Regex, .text = "("}),
               ErrorCode::InvalidArgument, "regular expression: the pattern is broken at byte 1");
  EXPECT_ERROR(compiler.compile({.kind = AnswerForm::Kind::JsonSchema, .text = "{"}),
               ErrorCode::InvalidFile, "schema: not valid JSON");
  EXPECT_ERROR(compiler.compile({.kind = AnswerForm::Kind::Choice}), ErrorCode::InvalidArgument,
               "there is nothing to choose from");
}

}  // namespace
}  // namespace pippin::app
