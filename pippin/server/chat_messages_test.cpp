#include "pippin/server/chat_messages.h"

#include <gtest/gtest.h>

#include "pippin/chat/json.h"
#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

std::string openai(std::string_view body) {
  return chat::to_json(openai_messages(Json::parse(body, "request")));
}
std::string anthropic(std::string_view body) {
  return chat::to_json(anthropic_messages(Json::parse(body, "request")));
}
template <typename Call>
std::string error(Call&& call) {
  try {
    call();
  } catch (const ApiError& failure) {
    return failure.what();
  }
  return "";
}

TEST(ChatMessages, OfOpenAi) {
  EXPECT_EQ(openai(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
                   R"({"type":"text","text":"b"}],"name":"me"}]})"),
            R"([{"role": "user", "content": "a\nb", "name": "me"}])");
  // Arguments become objects.
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1",)"
                   R"("function":{"name":"f","arguments":"{\"x\": 1}"}},{"function":)"
                   R"({"name":"g","arguments":""}}]}]})"),
            R"([{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": )"
            R"({"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "g", )"
            R"("arguments": {}}}]}])");
  EXPECT_EQ(error([] {
              openai(R"({"messages":[{"role":"assistant","tool_calls":[{"function":)"
                     R"({"name":"g","arguments":"[1]"}}]}]})");
            }),
            "messages[0].tool_calls[0].function.arguments: expected a JSON object");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","content":5}]})"); }),
            "messages[0].content: expected a string or a list of parts");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"content":"x"}]})"); }), "messages[0]: has no role");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})"); }),
            "messages[0].content[0]: has no text");
}

// Templates would write the word None.
TEST(ChatMessages, NullContentIsAnEmptyText) {
  for (const std::string role : {"system", "developer", "user", "assistant"}) {
    EXPECT_EQ(openai(R"({"messages":[{"role":")" + role + R"(","content":null}]})"),
              R"([{"role": ")" + role + R"(", "content": ""}])");
  }
  EXPECT_EQ(openai(R"({"messages":[{"role":"tool","tool_call_id":"1","content":null}]})"),
            R"([{"role": "tool", "tool_call_id": "1", "content": ""}])");
  // Turns with only thoughts, refusals, and calls without some members.
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","reasoning_content":"t"}]})"),
            R"([{"role": "assistant", "reasoning_content": "t", "content": ""}])");
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"refusal":"no",)"
                   R"("audio":null,"tool_calls":null}]})"),
            R"([{"role": "assistant", "content": "", "refusal": "no"}])");
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":null,)"
                   R"("type":null,"function":{"name":"f","strict":null,"arguments":null}}]}]})"),
            R"([{"role": "assistant", "content": "", "tool_calls": [{"function": )"
            R"({"name": "f", "arguments": {}}}]}])");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"assistant"}]})"); }),
            "messages[0]: has no content");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","reasoning":"t"}]})"); }),
            "messages[0]: has no content");
}

TEST(ChatMessages, OfAnthropic) {
  EXPECT_EQ(
      anthropic(
          R"({"system":[{"type":"text","text":"x-anthropic-billing-header: 1"},)"
          R"({"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":"a"},)"
          R"({"role":"assistant","content":[{"type":"thinking","thinking":"t"},)"
          R"({"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"f","input":{"x":1}}]},)"
          R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]})"),
      R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"}, )"
      R"({"role": "assistant", "content": "b", "reasoning_content": "t", "tool_calls": [{"id": )"
      R"("1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}, )"
      R"({"role": "tool", "tool_call_id": "1", "content": "r"}])");
  EXPECT_EQ(error([] { anthropic(R"({"messages":[{"role":"tool","content":"x"}]})"); }),
            "messages.0.role: \"tool\" is not user, assistant or system");
}

TEST(ChatMessages, DevelopersAreSystems) {
  const auto messages =
      openai_messages(Json::parse(R"({"messages":[{"role":"developer","content":"x"}]})", "r"));
  EXPECT_EQ(chat::to_json(without_developer(messages)), R"([{"role": "system", "content": "x"}])");
}

}  // namespace
}  // namespace pippin::server
