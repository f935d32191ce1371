// Constrained answers, and pippin constrain.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

TEST(Constrain, TellsWhichTextsHaveTheForm) {
  const auto result = run_pippin({"constrain", "--regex", "[a-z]+[0-9]", "ab1", "ab", "a1b", "9"});
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_EQ(
      result.out,
      "accepted\nrefused: it cannot end after 2 bytes\nrefused at byte 2\nrefused at byte 0\n");
  const std::string schema = R"({"properties":{"a":{"type":"integer"},"b":{}},"required":["b"]})";
  const std::string other_order = R"({"b":null, "a":2e1})";
  EXPECT_EQ(run_pippin({"constrain", "--json-schema", schema, other_order}).status, 0);
  EXPECT_EQ(run_pippin({"constrain", "--json-schema", schema, "--generated", other_order}).status,
            1);
  const auto lines =
      run_pippin({"constrain", "--choice", "yes,no", "--jsonl"}, {.input = "\"no\"\n\"nope\"\n"});
  EXPECT_EQ(lines.out, "{\"accepted\":true}\n{\"accepted\":false,\"at\":2}\n");
  EXPECT_EQ(lines.status, 1);
}

TEST(Constrain, RefusesFormsWithTheirPlace) {
  const auto message = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "constrain");
    const auto result = run_pippin(arguments);
    EXPECT_NE(result.status, 0);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(message({"--json-schema", R"({"items":{"uniqueItems":true}})"}),
            "pippin: error: #/items/uniqueItems: unique items are supported where \"enum\" or "
            "\"const\" lists them, not of other kinds\n");
  EXPECT_EQ(message({"--json-schema", "{"}).find("pippin: error: --json-schema: not valid JSON"),
            0U);
  EXPECT_NE(message({"--json-schema", "/nowhere/x.json"}).find("/nowhere/x.json"),
            std::string::npos);
  EXPECT_NE(message({"x"}).find("one of --json-schema, --grammar, --regex and --choice is needed"),
            std::string::npos);
  EXPECT_NE(message({"--regex", "a", "--choice", "b"}).find("only one can be given"),
            std::string::npos);
}

// A schema of 14 KB that takes many seconds to compile, up to the limit of work.
TEST(Constrain, EndsAtASignal) {
  std::string schema = R"({"type":"array","uniqueItems":true,"minItems":90,"items":{"enum":[0)";
  for (int i = 1; i < 3000; ++i) schema += "," + std::to_string(i);
  for (const int number : {SIGINT, SIGTERM}) {
    Process process({PIPPIN_PROGRAM, "constrain", "--json-schema", schema + "]}}"});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process.signal(number);
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.status, 128 + number);
    EXPECT_EQ(result.err, "pippin: cancelled\n");
  }
}

TEST(Run, AnswersHaveTheForm) {
  const TempDir folder;
  const std::string schema = (folder / "s.json").string(), grammar = (folder / "g.gbnf").string();
  write_file(schema, R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},)"
                     R"("kind":{"enum":["fox","hen"]}},"required":["name","kind"],)"
                     R"("additionalProperties":false})");
  write_file(grammar, "root ::= \"[\" item (\", \" item){1,2} \"]\"\nitem ::= [a-z]{2}\n");
  const auto run = [](std::vector<std::string> form) {
    form.insert(form.begin(), {"run", "--no-stats", "A fox and a hen"});
    const auto result = run_pippin(form);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const std::string text = run({"--json-schema", schema});
  EXPECT_EQ(Json::parse(text, "answer").keys(), (std::vector<std::string>{"name", "kind"}));
  EXPECT_EQ(run({"--json-schema", schema, "--draft", "off"}), text);
  EXPECT_EQ(run({"--choice", "maybe"}), "maybe\n");
  const std::string list = run({"--grammar", grammar});
  EXPECT_TRUE(list.size() == 9 || list.size() == 13) << list;
  // An answer cut off by the limit is a prefix of a valid one.
  const std::string choice = "Once upon a time there was";
  const std::string cut = run({"--choice", choice, "-n", "2"});
  EXPECT_TRUE(cut.size() > 1 && choice.starts_with(cut.substr(0, cut.size() - 1))) << cut;
}

}  // namespace
}  // namespace pippin
