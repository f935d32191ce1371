#include "pippin/repl/chat_tool.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::repl {
namespace {

TEST(ChatTool, HasTheArgumentsOfItsCommand) {
  const ChatTool tool = read_chat_tool("weather=curl wttr.in/{city}?{unit} # {city} ${HOME} {a b}");
  EXPECT_EQ(tool.name, "weather");
  EXPECT_EQ(tool.parameters,
            R"({"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},)"
            R"("required":["city","unit"]})");
  EXPECT_EQ(command_for(tool, R"({"city": "O'Hare; rm -rf /", "unit": 5})"),
            R"(curl wttr.in/'O'\''Hare; rm -rf /'?'5' # 'O'\''Hare; rm -rf /' ${HOME} {a b})");
  EXPECT_ERROR(command_for(tool, "{}"), ErrorCode::InvalidArgument,
               "the argument \"city\" is missing");
  EXPECT_ERROR(command_for(tool, "[1"), ErrorCode::InvalidFile, "arguments: not valid JSON");
  EXPECT_EQ(command_for(read_chat_tool("date=date"), ""), "date");
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
}  // namespace pippin::repl
