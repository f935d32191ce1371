// Tool calls at the endpoints, with several kinds of templates for the demo model.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/model_output/syntax_testing.h"
#include "pippin/server/tool_server_testing.h"

namespace pippin::server {
namespace {

constexpr const char* kSchema =
    R"({"type":"object","properties":{"city":{"type":"string","pattern":"^[a-z]{1,5}$"},)"
    R"("days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],)"
    R"("additionalProperties":false})";

std::string tools(const std::string& more = "") {
  return R"("tools":[{"type":"function","function":{"name":"weather","description":"Tells",)" +
         more + R"("parameters":)" + kSchema +
         R"(}},{"type":"function","function":{"name":"clock"}}],"max_tokens":150)";
}

Json choice_of(const http::Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json_of(answer).at("choices").at(size_t{0});
}

// Checks that the arguments of weather match its schema.
void expect_weather(const std::string& arguments) {
  const Json json = Json::parse(arguments, "arguments");
  EXPECT_EQ(json.keys(), (std::vector<std::string>{"city", "days"}));
  EXPECT_TRUE(json.at("days").is_integer(1, 9)) << arguments;
  EXPECT_LE(json.get_string("city").size(), 5U) << arguments;
}

const std::string kWeather = R"("tool_choice":{"type":"function","function":{"name":"weather"}})";

TEST(ToolCalls, OfEveryShapeAreMadeWhereTheyAreRequired) {
  for (const std::string_view calls :
       {model_output::kHermes, model_output::kTagged, model_output::kList, model_output::kNamed,
        model_output::kPython, model_output::kBare}) {
    const ToolServer server(calls);
    for (const std::string more : {"", R"(,"temperature":1.5,"seed":7)"}) {
      const Json choice = choice_of(server.chat(tools() + "," + kWeather + more));
      EXPECT_EQ(choice.get_string("finish_reason"), "tool_calls") << calls;
      const Json message = choice.at("message");
      EXPECT_TRUE(message.contains("content") && !message.has("content")) << calls;
      ASSERT_EQ(message.at("tool_calls").size(), 1U) << calls;
      const Json call = message.at("tool_calls").at(size_t{0});
      EXPECT_EQ(call.get_string("type"), "function");
      EXPECT_FALSE(call.get_string("id").empty());
      EXPECT_EQ(call.at("function").get_string("name"), "weather");
      expect_weather(call.at("function").get_string("arguments"));
    }
  }
}

struct Stream {
  std::vector<std::pair<std::string, std::string>> calls;  // names and arguments
  std::string content, finish;
};

Stream read_stream(const http::Answer& answer) {
  Stream stream;
  std::map<int64_t, std::string> ids;
  for (size_t at = answer.body.find("data: "); at != std::string::npos;
       at = answer.body.find("data: ", at)) {
    const size_t end = answer.body.find("\n\n", at);
    const std::string event = answer.body.substr(at + 6, end - at - 6);
    at = end;
    if (event == "[DONE]") break;
    const Json choice = Json::parse(event, "event").at("choices").at(size_t{0});
    const Json delta = choice.at("delta");
    stream.content += delta.get_string_or("content", "");
    stream.finish = choice.get_string_or("finish_reason", stream.finish);
    if (!delta.has("tool_calls")) continue;
    const Json call = delta.at("tool_calls").at(size_t{0});
    const int64_t index = call.get_int("index");
    if (call.has("id")) {
      EXPECT_EQ(index, std::ssize(stream.calls));
      EXPECT_EQ(call.get_string("type"), "function");
      ids[index] = call.get_string("id");
      stream.calls.emplace_back(call.at("function").get_string("name"), "");
    }
    EXPECT_EQ(index + 1, std::ssize(stream.calls));
    stream.calls.back().second += call.at("function").get_string_or("arguments", "");
  }
  return stream;
}

TEST(ToolCalls, ComeInPieces) {
  const ToolServer server(model_output::kHermes);
  const std::string request = tools() + R"(,"tool_choice":"required","seed":3,"temperature":1)";
  const Json calls = choice_of(server.chat(request)).at("message").at("tool_calls");
  const Stream stream = read_stream(server.chat(request + R"(,"stream":true)"));
  EXPECT_EQ(stream.content, "");
  ASSERT_EQ(stream.calls.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(stream.calls[i].first, calls.at(i).at("function").get_string("name"));
    EXPECT_EQ(stream.calls[i].second, calls.at(i).at("function").get_string("arguments"));
  }
}

TEST(ToolCalls, OneAtMostWhereTheyAreNotParallel) {
  const ToolServer server(model_output::kPython);
  const std::string request = tools() + R"(,"tool_choice":"required","parallel_tool_calls":false)";
  EXPECT_EQ(choice_of(server.chat(request)).at("message").at("tool_calls").size(), 1U);
  // A second call that the model writes nevertheless ends the answer.
  const std::string two = tools() + R"(,"parallel_tool_calls":false,)" +
                          R"("grammar":"root ::= \"<calls>[clock(), weather(days=1)]</calls>\"")";
  const Json choice = choice_of(server.chat(two));
  EXPECT_EQ(choice.at("message").at("tool_calls").size(), 1U);
  EXPECT_EQ(choice.get_string("finish_reason"), "tool_calls");
}

TEST(ToolCalls, AreReadFromWhatTheModelWrites) {
  const ToolServer server(model_output::kHermes);
  const auto said = [&](const std::string& text, const std::string& more = "") {
    // A grammar determines the whole answer, with calls or without.
    JsonWriter literal, grammar;
    literal.value(text);
    grammar.value("root ::= " + literal.text());
    return tools() + ",\"grammar\":" + grammar.text() + more;
  };
  const std::string text =
      "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": "
      "\"ab\"}}\n</tool_call>";
  const Json choice = choice_of(server.chat(said(text)));
  EXPECT_EQ(choice.at("message").get_string("content"), "I look.");
  EXPECT_EQ(
      choice.at("message").at("tool_calls").at(size_t{0}).at("function").get_string("arguments"),
      R"({"city": "ab"})");
  EXPECT_EQ(choice.get_string("finish_reason"), "tool_calls");
  const Stream stream = read_stream(server.chat(said(text, R"(,"stream":true)")));
  EXPECT_EQ(stream.content, "I look.");
  EXPECT_EQ(stream.finish, "tool_calls");
  // A call of an unknown tool, or a broken call, is content.
  for (const std::string broken :
       {"<tool_call>\n{\"name\": \"walk\", \"arguments\": {}}\n</tool_call>",
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\": oops}}\n</tool_call>"}) {
    const Json plain = choice_of(server.chat(said(broken)));
    EXPECT_EQ(plain.at("message").get_string("content"), broken);
    EXPECT_FALSE(plain.at("message").contains("tool_calls"));
    EXPECT_EQ(plain.get_string("finish_reason"), "stop");
  }
  // Without callable tools, it is content, too.
  const Json none = choice_of(server.chat(said(text, R"(,"tool_choice":"none")")));
  EXPECT_EQ(none.at("message").get_string("content"), text);
}

TEST(ToolCalls, OfStrictToolsKeepToTheirSchema) {
  const ToolServer server(model_output::kHermes);
  // Free text is allowed, but a call that begins is valid; the demo model writes stories.
  const Json choice = choice_of(server.chat(tools(R"("strict":true,)") + R"(,"max_tokens":20)"));
  EXPECT_FALSE(choice.at("message").contains("tool_calls"));
  EXPECT_FALSE(choice.at("message").get_string("content").empty());
  const http::Answer refused = server.chat(
      R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":)"
      R"({"type":"object","properties":{"a":{"$ref":"http://x/y"}}}}}])");
  EXPECT_TRUE(error_of(refused).starts_with("400 tools: tools: tool f: #/properties/a"))
      << error_of(refused);
}

TEST(ToolCalls, TakeTheFormOfTextsBesideThem) {
  const ToolServer server(model_output::kHermes);
  const Json message =
      choice_of(server.chat(tools() + R"(,"guided_choice":["yes"])")).at("message");
  if (message.contains("tool_calls")) {
    EXPECT_FALSE(message.has("content"));
  } else {
    EXPECT_EQ(message.get_string("content"), "yes");
  }
}

TEST(ToolCalls, InTheHistoryAreWrittenAsTheModelDoes) {
  const ToolServer server(model_output::kTagged);
  const auto prompt = [&](const std::string& arguments) {
    const std::string call = R"({"id":"a","type":"function","function":{"name":"weather")" +
                             (arguments.empty() ? "" : ",\"arguments\":" + arguments) + "}}";
    return server.post(
        "/apply-template",
        R"({"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":)"
        R"(null,"tool_calls":[)" +
            call + R"(]},{"role":"tool","tool_call_id":"a","content":"sun"}]})");
  };
  EXPECT_EQ(json_of(prompt(R"("{\"city\": \"ab\"}")")).get_string("prompt"),
            "[user]Go[end]\n[assistant]<tool_call>\n<function=weather>\n<parameter=city>\nab\n"
            "</parameter>\n</function>\n</tool_call>[end]\n[tool]sun[end]\n[assistant]");
  const std::string empty =
      "[user]Go[end]\n[assistant]<tool_call>\n<function=weather>\n</function>\n</tool_call>[end]\n"
      "[tool]sun[end]\n[assistant]";
  for (const char* nothing : {"\"\"", "\"{}\"", "{}", "null", ""}) {
    EXPECT_EQ(json_of(prompt(nothing)).get_string("prompt"), empty) << nothing;
  }
  for (const char* wrong : {R"("{\"city\": ")", R"("[1]")", "5", R"("sun")"}) {
    const std::string error = error_of(prompt(wrong));
    EXPECT_TRUE(error.starts_with("400 messages[1].tool_calls[0].function.arguments: ")) << error;
  }
}

TEST(ToolCalls, OfAnthropicsEndpoint) {
  const ToolServer server(model_output::kHermes);
  const std::string request = std::string(R"("max_tokens":150,"tools":[{"name":"weather",)") +
                              R"("description":"Tells","input_schema":)" + kSchema + "}]" +
                              R"(,"tool_choice":{"type":"tool","name":"weather"})";
  const Json message = json_of(server.messages(request));
  EXPECT_EQ(message.get_string("stop_reason"), "tool_use");
  ASSERT_EQ(message.at("content").size(), 1U);
  const Json block = message.at("content").at(size_t{0});
  EXPECT_EQ(block.get_string("type"), "tool_use");
  EXPECT_EQ(block.get_string("name"), "weather");
  EXPECT_TRUE(block.get_string("id").starts_with("toolu_"));
  expect_weather(block.at("input").dump());
  const std::string body = server.messages(request + R"(,"stream":true)").body;
  std::string input;
  for (size_t at = body.find("partial_json\""); at != std::string::npos;
       at = body.find("partial_json\"", at + 1)) {
    const size_t line = body.rfind("data: ", at);
    const Json event =
        Json::parse(body.substr(line + 6, body.find('\n', line) - line - 6), "event");
    input += event.at("delta").get_string("partial_json");
  }
  expect_weather(input);
  for (const char* part :
       {R"("type":"content_block_start","index":0,"content_block":{"type":"tool_use")",
        R"("input":{}})", R"("stop_reason":"tool_use")", "message_stop"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << "\n" << body;
  }
}

TEST(ToolCalls, ErrorsSayWhatIsWrong) {
  const ToolServer server(model_output::kHermes);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tools":{})", "400 tools: tools: expected a list"},
      {R"("tools":[{"type":"function"}])", "400 tools: tools[0].name: is missing"},
      {R"("tool_choice":"required")", "400 tool_choice: tool_choice: no tools"},
      {tools() + R"(,"tool_choice":"never")", "400 tool_choice: tool_choice: \"never\" is not "},
      {tools() + R"(,"tool_choice":{"type":"function","function":{"name":"x"}})",
       "400 tool_choice: tool_choice: unknown tool \"x\""},
      {tools() + R"(,"parallel_tool_calls":1)", "400 parallel_tool_calls: "},
      {tools() + R"(,"tool_choice":"required","guided_regex":"a")",
       "400 tool_choice: tool_choice: the answer's form is given by guided_regex already"},
  };
  for (const auto& [body, wanted] : cases) {
    const std::string error = error_of(server.chat(body));
    EXPECT_TRUE(error.starts_with(wanted)) << body << "\n" << error;
  }
  EXPECT_TRUE(error_of(server.messages(R"("max_tokens":5,"tools":[{"name":"a"}],)"
                                       R"("tool_choice":{"type":"some"})"))
                  .starts_with("400 -: tool_choice: the type \"some\""));
  const ToolServer plain("{% for m in messages %}{{ m.content }}{% endfor %}", 0);
  EXPECT_EQ(error_of(plain.chat(tools())),
            "400 tools: tools: the model's chat template takes none");
  const ToolServer silent("{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}",
                          0);
  EXPECT_EQ(error_of(silent.chat(tools())),
            "400 tools: tools: the model's chat template does not tell how it calls them");
}

}  // namespace
}  // namespace pippin::server
