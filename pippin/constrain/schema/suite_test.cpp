// JSON Schema's own test suite; the shared data include a part of it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/io/json.h"

namespace pippin::constrain {
namespace {

struct Score {
  int right = 0, wrong_accepts = 0, wrong_refusals = 0, unsupported = 0;
  int all() const { return right + wrong_accepts + wrong_refusals + unsupported; }
};

// Judges a group's instances, written compactly with keys in their original order.
void judge(const Json& group, Score& score) {
  const std::string file = group.get_string("file");
  const std::vector<Json> tests = group.at("tests").elements();
  SchemaOptions options{.order = PropertyOrder::Any, .every_spelling = true};
  options.format_asserts = file.starts_with("optional/format/");
  std::shared_ptr<Grammar> grammar = std::make_shared<Grammar>();
  bool has_value = true;
  try {
    const RuleId root = grammar->add_rule("root");
    grammar->add_alternative(root, {add_schema(*grammar, group.at("schema"), options)});
    grammar->set_root(root);
    grammar->finish();
  } catch (const Error& error) {
    if (std::string(error.what()) == "#: the schema has no value") {
      has_value = false;
    } else {
      if (std::getenv("PIPPIN_TELL") != nullptr) {
        fprintf(stderr, "unsupported %s | %s: %s\n", file.c_str(),
                group.get_string("description").c_str(), error.what());
      }
      score.unsupported += static_cast<int>(tests.size());
      return;
    }
  }
  std::optional<Matcher> matcher;
  if (has_value) matcher.emplace(grammar);
  for (const Json& test : tests) {
    const std::string text = test.at("data").dump();
    const bool accepted = has_value && matcher->matches(text), valid = test.get_bool("valid");
    if (accepted == valid) {
      ++score.right;
      continue;
    }
    ++(accepted ? score.wrong_accepts : score.wrong_refusals);
    ADD_FAILURE() << (accepted ? "accepts" : "refuses") << " wrongly: " << file << " | "
                  << group.get_string("description") << " | " << test.get_string("description")
                  << ": " << text << "\n  " << group.at("schema").dump();
  }
}

TEST(SchemaSuite, VerdictsAreThoseOfTheSuite) {
  PIPPIN_SHARED_OR_SKIP(folder, "serving/json-schema-suite");
  Score score;
  std::ifstream lines(folder / "draft2020-12.jsonl");
  for (std::string line; std::getline(lines, line);)
    judge(Json::parse(line, "draft2020-12.jsonl", {.max_depth = 1000}), score);
  RecordProperty("right", score.right);
  printf("right %d, wrong accepts %d, wrong refusals %d, unsupported %d, of %d (%.1f %%)\n",
         score.right, score.wrong_accepts, score.wrong_refusals, score.unsupported, score.all(),
         100.0 * score.right / score.all());
  EXPECT_EQ(score.wrong_accepts, 0);
  EXPECT_EQ(score.wrong_refusals, 0);
  EXPECT_GE(score.right, score.all() * 9 / 10);
}

}  // namespace
}  // namespace pippin::constrain
