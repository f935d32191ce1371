#include "pippin/constrain/work.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/constrain/constraint.h"
#include "pippin/constrain/gbnf/gbnf.h"
#include "pippin/constrain/schema/schema.h"

namespace pippin::constrain {
namespace {

void work(Work& work, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) work.count();
}

TEST(Work, IsLimited) {
  Work counted;
  work(counted, 100'000);
  {
    const Work::Limit limit(counted, 1'000, "a test");
    work(counted, 999);
    EXPECT_ERROR(counted.count(), ErrorCode::LimitExceeded,
                 "a test takes more than 1000 steps of work");
    EXPECT_ERROR(counted.count(), ErrorCode::LimitExceeded,
                 "a test takes more than 1000 steps of work");
  }
  work(counted, 100'000);
  EXPECT_EQ(counted.done(), 201'001U);
}

TEST(Work, TheSmallerLimitHolds) {
  Work counted;
  const Work::Limit outer(counted, 1'000, "all");
  {
    const Work::Limit inner(counted, 100, "a part");
    EXPECT_ERROR(work(counted, 200), ErrorCode::LimitExceeded, "a part takes more than 100");
  }
  {
    const Work::Limit inner(counted, 5'000, "a part");
    EXPECT_ERROR(work(counted, 5'000), ErrorCode::LimitExceeded, "all takes more than 1000");
  }
  EXPECT_LT(counted.done(), 1'001U);
}

TEST(Work, EndsWhereItsCallIsCancelled) {
  Work counted;
  CancelToken token;
  const CancelScope scope(token);
  work(counted, 100'000);
  token.request();
  EXPECT_ERROR(work(counted, 100'000), ErrorCode::Cancelled, "cancelled");
  EXPECT_LT(counted.done(), 150'000U);
}

std::shared_ptr<Grammar> grammar_of(std::string_view schema, const GrammarLimits& limits = {}) {
  auto grammar = std::make_shared<Grammar>(limits);
  const RuleId root = grammar->add_rule("root");
  grammar->add_alternative(root, {add_schema(*grammar, Json::parse(schema, "schema"))});
  grammar->set_root(root);
  grammar->finish();
  return grammar;
}

// Short schemas that require unbounded work: each ends soon after the limit.
TEST(Work, EndsHardSchemas) {
  std::string patterns, names;
  for (int i = 0; i < 12; ++i) {
    patterns += fmt::format(R"({{"pattern":"(a|b|c)*(a|b){{{}}}(b|c)*"}},)", 13 + i);
    names += fmt::format(R"("(a|b)*{}(a|c){{{}}}":{{"type":"null"}},)", "abc"[i % 3], 9 + i);
  }
  const std::vector<std::string> schemas = {
      R"({"allOf":[)" + patterns + R"({"type":"string"}]})",
      R"({"type":"object","patternProperties":{)" + names + R"("x":{}},"minProperties":1})",
      R"({"type":"array","uniqueItems":true,"minItems":90,"items":{"enum":[)" +
          [] {
            std::string numbers = "0";
            for (int i = 1; i < 3000; ++i) numbers += "," + std::to_string(i);
            return numbers;
          }() +
          "]}}"};
  for (const std::string& schema : schemas) {
    auto grammar = std::make_shared<Grammar>();
    const Work::Limit limit(grammar->regexes().work(), 2'000'000, "the form");
    EXPECT_ERROR(
        [&] {
          const RuleId root = grammar->add_rule("root");
          grammar->add_alternative(root, {add_schema(*grammar, Json::parse(schema, "schema"))});
          grammar->set_root(root);
          grammar->finish();
          Matcher(grammar).step(1, "[\"a");
        }(),
        ErrorCode::LimitExceeded, "the form takes more than 2000000 steps of work");
    EXPECT_LT(grammar->regexes().work().done(), 2'100'000U) << schema.substr(0, 80);
  }
}

std::shared_ptr<const Vocabulary> vocabulary() {
  std::vector<std::string> tokens;
  for (int c = 0; c < 256; ++c) tokens.push_back(std::string(1, static_cast<char>(c)));
  for (const char* more :
       {"{\"",  "\":", "\",\"", "\"}", "true", "null", "[{",  "}]", "aa", "ab",
        "name", "10",  "1.5",   "[]",  "{}",   ",\"",  "abc", "ba", "é",  "日本"}) {
    tokens.emplace_back(more);
  }
  return std::make_shared<Vocabulary>(std::move(tokens));
}

// A call that the limit ends at any step changes nothing: the next masks are the same.
TEST(Work, CanBeTakenUpAgain) {
  const auto words = vocabulary();
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int cut = 0;
  for (
      const char* schema :
      {R"({"type":"object","properties":{"name":{"type":"string","pattern":"^a+b?$"},)"
       R"("n":{"type":"number","minimum":3}},"required":["name"],"additionalProperties":{"type":"null"}})",
       R"({"type":"array","contains":{"const":10},"minContains":2,"items":{"enum":[10,"ab",null,1.5]}})",
       R"({"$defs":{"t":{"type":"object","properties":{"l":{"$ref":"#/$defs/t"},"v":{"type":"integer"}}}},)"
       R"("$ref":"#/$defs/t","minProperties":1})",
       R"({"type":"array","uniqueItems":true,"minItems":2,"items":{"enum":[true,"aa",1,2]}})",
       R"({"oneOf":[{"type":"string","maxLength":4},{"type":"array","items":{"pattern":"^(a|b){2}$"}}]})",
       R"({"type":"object","patternProperties":{"^a":{"type":"null"}},"propertyNames":{"maxLength":3},)"
       R"("dependentRequired":{"a":["ab"]},"minProperties":2})"}) {
    Constraint whole(grammar_of(schema), words);
    for (int time = 0; time < 40; ++time) {
      const auto grammar = grammar_of(schema);
      Constraint parts(grammar, vocabulary());  // separate from the other, which caches results
      const auto again = [&](const auto& call) {
        for (uint64_t steps = 1 + random() % 1000;; steps += 1 + random() % 100) {
          try {
            const Work::Limit limit(grammar->regexes().work(), steps, "a part");
            return call();
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::LimitExceeded);
            ++cut;
          }
        }
      };
      StateId a = whole.start(), b = parts.start();
      for (int length = 0; length < 25; ++length) {
        const auto want = whole.mask(a);
        const auto have = again([&] { return parts.mask(b); });
        ASSERT_TRUE(std::equal(want->words().begin(), want->words().end(), have->words().begin()))
            << schema << " after " << length << " tokens";
        std::vector<int32_t> allowed;
        for (size_t id = 0; id < words->size(); ++id) {
          if (want->allows(static_cast<int32_t>(id))) allowed.push_back(static_cast<int32_t>(id));
        }
        ASSERT_EQ(whole.can_end(a), parts.can_end(b));
        if (allowed.empty()) break;
        const int32_t token = allowed[random() % allowed.size()];
        a = whole.step(a, token);
        b = again([&] { return parts.step(b, token); });
      }
    }
  }
  EXPECT_GT(cut, 100);
}

TEST(Work, IsLimitedPerCall) {
  const auto words = vocabulary();
  const char* schema = R"({"type":"object","properties":{"name":{"type":"string"}}})";
  Constraint little(grammar_of(schema, {.work = {.mask = 100}}), words);
  EXPECT_ERROR(little.mask(little.start()), ErrorCode::LimitExceeded,
               "what may come next takes more than 100 steps of work");
  Constraint enough(grammar_of(schema), words);
  EXPECT_NE(enough.mask(enough.start()), nullptr);
  EXPECT_LT(enough.work_done(), enough.most_work() / 100);
}

}  // namespace
}  // namespace pippin::constrain
