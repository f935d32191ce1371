#include "pippin/server/response_items.h"

#include <gtest/gtest.h>

#include "pippin/chat/json.h"
#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

std::string turns(std::string_view input, const std::string& instructions = "") {
  return chat::to_json(
      response_messages(instructions, input_items(Json::parse(input, "request"))).messages);
}

std::string items_error(std::string_view input) {
  try {
    turns(input);
  } catch (const ApiError& failure) {
    return failure.what();
  }
  return "";
}

TEST(ResponseItems, BecomeTurns) {
  EXPECT_EQ(turns(R"("Hi")"), R"([{"role": "user", "content": "Hi"}])");
  // Instructions and developers' messages come first, in one message; pieces of a turn are joined,
  // too.
  EXPECT_EQ(
      turns(R"([{"role":"developer","content":"b"},)"
            R"({"type":"message","role":"user","content":[{"type":"input_text","text":"c"},)"
            R"({"type":"input_text","text":"d"}]},{"role":"user","content":"e"}])",
            "a"),
      R"([{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "c\nd\n\ne"}])");
  EXPECT_EQ(turns("[]", "a"),
            R"([{"role": "system", "content": "a"}, {"role": "user", "content": ""}])");
  EXPECT_EQ(turns("[]"), R"([{"role": "user", "content": ""}])");
}

TEST(ResponseItems, OfAnAssistantBelongTogether) {
  EXPECT_EQ(
      turns(R"([{"type":"reasoning","id":"rs","summary":[],"content":)"
            R"([{"type":"reasoning_text","text":"hm"}]},)"
            R"({"type":"message","role":"assistant","id":"m","status":"completed","content":)"
            R"([{"type":"output_text","text":"I look.","annotations":[]}]},)"
            R"({"type":"function_call","call_id":"1","name":"f","arguments":"{\"x\": 1}"},)"
            R"({"type":"function_call","call_id":"2","name":"gone","arguments":""},)"
            R"({"type":"function_call_output","call_id":"2","output":"two"},)"
            R"({"type":"function_call_output","call_id":"1","output":)"
            R"([{"type":"input_text","text":"one"}]},)"
            R"({"role":"assistant","content":"Done"}])"),
      R"([{"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": )"
      R"([{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}, )"
      R"({"id": "2", "type": "function", "function": {"name": "gone", "arguments": {}}}]}, )"
      R"({"role": "tool", "content": "two", "tool_call_id": "2", "name": "gone"}, )"
      R"({"role": "tool", "content": "one", "tool_call_id": "1", "name": "f"}, )"
      R"({"role": "assistant", "content": "Done"}])");
  // A client that returns a model's broken arguments is not at fault.
  EXPECT_NE(turns(R"([{"type":"function_call","call_id":"1","name":"f","arguments":"{oops"}])")
                .find(R"("arguments": {"arguments": "{oops"})"),
            std::string::npos);
}

TEST(ResponseItems, CarryThoughtsForClientsWithoutAStore) {
  const auto thoughts = [](const std::string& sealed) {
    return turns(R"([{"type":"reasoning","summary":[{"type":"summary_text","text":"short"}],)"
                 R"("encrypted_content":")" +
                 sealed + "\"}]");
  };
  EXPECT_NE(thoughts(sealed_thoughts("long \n thoughts")).find(R"("long \n thoughts")"),
            std::string::npos);
  // The content of another server.
  for (const char* other : {"gAAAAABo", "***", "cGlwcGlu"}) {
    EXPECT_NE(thoughts(other).find(R"("reasoning_content": "short")"), std::string::npos) << other;
  }
}

TEST(ResponseItems, ErrorsNameThePlace) {
  EXPECT_EQ(items_error("5"), "input: expected a string or a list of items");
  EXPECT_EQ(items_error("[5]"), "input[0]: expected an object");
  EXPECT_EQ(items_error("[{}]"), "input[0]: has no role");
  EXPECT_EQ(items_error(R"([{"type":7}])"), "input[0].type: expected a string");
  EXPECT_EQ(items_error(R"([{"role":"tool","content":"x"}])"),
            "input[0].role: \"tool\" is not user, assistant, system or developer");
  EXPECT_EQ(items_error(R"([{"role":7,"content":"x"}])"), "input[0].role: expected a string");
  EXPECT_EQ(items_error(R"([{"role":"user"}])"), "input[0]: has no content");
  EXPECT_EQ(items_error(R"([{"role":"user","content":7}])"),
            "input[0].content: expected a string or a list of parts");
  EXPECT_EQ(items_error(R"([{"role":"user","content":[[]]}])"),
            "input[0].content[0]: expected an object with a type");
  EXPECT_EQ(items_error(R"([{"role":"user","content":[{"type":"input_image","image_url":"x"}]}])"),
            "input[0].content[0]: \"x\" is not a data, http or https URL");
  EXPECT_EQ(items_error(R"([{"role":"user","content":[{"type":"input_image","file_id":"x"}]}])"),
            "input[0].content[0].file_id: files are not stored here");
  EXPECT_EQ(items_error(R"([{"role":"user","content":[{"type":"input_audio"}]}])"),
            "input[0].content[0]: parts of type \"input_audio\" are not supported (supported: "
            "input_text, output_text, refusal, input_image)");
  EXPECT_EQ(items_error(R"(["x"])"), "input[0]: expected an object");
  EXPECT_TRUE(items_error(R"([{"type":"web_search_call","id":"x"}])")
                  .starts_with("input[0].type: items of type \"web_search_call\" are not supported "
                               "(supported: message, "));
  EXPECT_EQ(items_error(R"([{"type":"function_call_output","call_id":"x","output":"1"}])"),
            "input[0].call_id: no function_call has the call_id \"x\"");
  EXPECT_EQ(items_error(R"([{"type":"function_call","call_id":"x","name":"","arguments":""}])"),
            "input[0].name: is empty");
  EXPECT_EQ(items_error(R"([{"type":"function_call","call_id":"x","name":"f","arguments":{}}])"),
            "input[0].arguments: expected a string");
  EXPECT_EQ(items_error(R"([{"type":"reasoning","summary":"x"}])"),
            "input[0].summary: expected a list of parts");
  std::string many = "[";
  for (int i = 0; i < 65537; ++i) many += "{},";
  EXPECT_EQ(items_error(many + "{}]"), "input: has 65538 items, at most 65536 are taken");
}

}  // namespace
}  // namespace pippin::server
