// Tool calls on the command line.
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

constexpr const char* kTemplate =
    "{{ tools | tojson }}{% for m in messages %}[{{ m.role }}]{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{\"name\": \"{{ c.function.name }}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}}</tool_call>{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}";

TEST(Template, TakesAnAnswerApart) {
  const TempDir folder;
  const std::string file = (folder / "t.jinja").string(), talk = (folder / "c.json").string();
  write_file(file, kTemplate);
  write_file(talk, R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function",)"
                   R"("function":{"name":"f","description":"d"}}]})");
  const auto result = run_pippin(
      {"template", file, talk, "--answer", "-"},
      {.input = "So:\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1]}}</tool_call>"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out,
            R"({"content":"So:","reasoning_content":"","tool_calls":[{"id":"call_0","name":"f",)"
            R"("arguments":"{\"a\": [1]}"}]})"
            "\n");
  EXPECT_NE(run_pippin({"template", file, talk, "--answer", "-", "--jsonl"}).status, 0);
}

TEST(Chat, RunsToolsOnlyWhereItMay) {
  const TempDir folder;
  const std::string file = (folder / "t.jinja").string(), grammar = (folder / "g.gbnf").string();
  const std::string made = (folder / "made").string();
  write_file(file, kTemplate);
  write_file(
      grammar,
      R"x(root ::= "<tool_call>{\"name\": \"make\", \"arguments\": {\"name\": \"made\"}}</tool_call>")x");
  const auto chat = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"chat",
                                       "--chat-template",
                                       file,
                                       "--grammar",
                                       grammar,
                                       "--tool",
                                       "make=touch " + folder.path().string() + "/{name}"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_pippin(arguments, {.input = "Go\n"});
  };
  const auto refused = chat({});
  EXPECT_NE(refused.err.find("[make: not run without --allow-tools: touch "), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(made));
  EXPECT_NE(chat({"--allow-tools"}).err.find("/'made']"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(made));
  const auto wrong = run_pippin({"chat", "--tool", "nothing"}, {.input = ""});
  EXPECT_NE(wrong.status, 0);
  EXPECT_NE(wrong.err.find("is not of the form NAME=COMMAND"), std::string::npos) << wrong.err;
  const auto quoted = run_pippin({"chat", "--tool", "find=sh -c \"ls {name}\""}, {.input = ""});
  EXPECT_NE(quoted.status, 0);
  EXPECT_NE(quoted.err.find("{name} stands within quotes"), std::string::npos) << quoted.err;
}

TEST(ChatTemplate, OfAFile) {
  const TempDir folder;
  const std::string file = (folder / "t.jinja").string();
  write_file(file, "{{ raise_exception('no such talk') }}");
  const auto result = run_pippin({"run", "--chat-template", file, "Hi"});
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.err.find("no such talk"), std::string::npos) << result.err;
  const auto absent = run_pippin({"run", "--chat-template", file + "x", "Hi"});
  EXPECT_NE(absent.err.find("t.jinjax: there is no such chat template"), std::string::npos);
}

}  // namespace
}  // namespace pippin
