#include "pippin/shell/chat_tool.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/shell/command_run.h"

namespace pippin::shell {
namespace {

TEST(ChatTool, HasTheArgumentsOfItsCommand) {
  const ChatTool tool =
      read_chat_tool("weather=curl wttr.in/{city}?\"{unit}\" ${HOME} {a b} {city}");
  EXPECT_EQ(tool.name, "weather");
  EXPECT_EQ(tool.parameters,
            R"({"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},)"
            R"("required":["city","unit"]})");
  const ToolCommand command = command_for(tool, R"({"city": "O'Hare; rm -rf /", "unit": 5})");
  EXPECT_EQ(command.shown,
            R"(curl wttr.in/'O'\''Hare; rm -rf /'?'5' ${HOME} {a b} 'O'\''Hare; rm -rf /')");
  EXPECT_EQ(command.program,
            R"(curl wttr.in/"${PIPPIN_ARGUMENT_city}"?"${PIPPIN_ARGUMENT_unit}" ${HOME} {a b} )"
            R"("${PIPPIN_ARGUMENT_city}")");
  EXPECT_EQ(command.variables,
            (std::map<std::string, std::string>{{"PIPPIN_ARGUMENT_city", "O'Hare; rm -rf /"},
                                                {"PIPPIN_ARGUMENT_unit", "5"}}));
  EXPECT_ERROR(command_for(tool, "{}"), ErrorCode::InvalidArgument,
               "the argument \"city\" is missing");
  EXPECT_ERROR(command_for(tool, "[1"), ErrorCode::InvalidFile, "arguments: not valid JSON");
  EXPECT_ERROR(command_for(tool, R"({"city": "a\u0000b", "unit": 5})"), ErrorCode::InvalidArgument,
               "the argument \"city\" has a character NUL");
  const ToolCommand plain = command_for(read_chat_tool("date=date"), "");
  EXPECT_EQ(plain.program, "date");
  EXPECT_TRUE(plain.variables.empty());
}

std::string run_of(const ToolCommand& command) {
  CommandRun run(command.program, "", command.variables);
  while (!run.wait(1000)) continue;
  return run.output();
}

// At any place, the model's text is one word: no part of it is run, split or expanded.
TEST(ChatTool, ArgumentsAreNotRead) {
  const TempDir folder;
  const std::string made = (folder / "made").string();
  const std::vector<std::string> arguments{"$(touch " + made + ")",
                                           "`touch " + made + "`",
                                           "'; touch " + made + "; '",
                                           "\"; touch " + made + "; \"",
                                           "'\"$(touch " + made + ")\"'",
                                           "\n touch " + made + "\n",
                                           "* a  b \\ ~ ${HOME} # !",
                                           "-n",
                                           ""};
  struct Case {
    const char *command, *before, *after;
  };
  constexpr Case kCases[] = {
      {"printf '[%s]' {q}", "[", "]"},
      {"printf '[%s]' \"{q}\"", "[", "]"},
      {"printf '[%s]' '{q}'", "[", "]"},
      {"printf '[%s]' \"a\"{q}'b'", "[a", "b]"},
      {"printf '[%s]' \"$(printf %s {q}; echo x)\"", "[", "x]"},
      {"printf '[%s]' \"`printf %s {q}; echo x`\"", "[", "x]"},
      {"true # isn't\nprintf '[%s]' {q}", "[", "]"},
      {"echo \\'; printf '[%s]' {q}", "'\n[", "]"},
      {"cat <<EOF\n{q}\nEOF", "\"", "\"\n"},  // also in another context of the shell's grammar
  };
  for (const std::string& argument : arguments) {
    JsonWriter json;
    json.begin_object().member("q", argument).end_object();
    for (const Case& one : kCases) {
      SCOPED_TRACE(std::string(one.command) + " with " + argument);
      const ChatTool tool = read_chat_tool(std::string("x=") + one.command);
      EXPECT_EQ(run_of(command_for(tool, json.text())), one.before + argument + one.after);
      EXPECT_FALSE(std::filesystem::exists(made));
    }
  }
}

TEST(ChatTool, RefusesOtherForms) {
  for (const char* text : {"date", "=date", "date=", "a b=date", "a;b=c"}) {
    EXPECT_ERROR(read_chat_tool(text), ErrorCode::InvalidArgument,
                 "is not of the form NAME=COMMAND");
  }
}

TEST(ChatTool, IsDescribedByAFile) {
  std::vector<ChatTool> tools{read_chat_tool("date=date")};
  EXPECT_EQ(tools[0].description, "Runs: date");
  describe_tools(tools,
                 Json::parse(R"([{"type":"function","function":{"name":"date","description":)"
                             R"("Tells the date","parameters":{"type":"object"}}}])",
                             "tools.json"));
  EXPECT_EQ(tools_json(tools),
            R"([{"type":"function","function":{"name":"date","description":"Tells the date",)"
            R"("parameters":{"type":"object"}}}])");
  EXPECT_ERROR(describe_tools(tools, Json::parse(R"([{"name":"time"}])", "tools.json")),
               ErrorCode::InvalidArgument, "the tool \"time\" has no command");
}

}  // namespace
}  // namespace pippin::shell
