// The Responses API over HTTP: answers, streams, tools, the store.
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/server/tool_server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPath = "/v1/responses";
const std::string kInput = R"("input":"Tell me a story about a fox called Mia.")";

std::string ask(const std::string& more) {
  return "{" + kInput + "," + more + "}";
}

Json answer_of(const http::Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json_of(answer);
}

// Returns the text of all messages of a response.
std::string text_of(const Json& response) {
  std::string text;
  for (const Json& item : response.at("output").elements()) {
    if (item.get_string("type") != "message") continue;
    for (const Json& part : item.at("content").elements()) text += part.get_string("text");
  }
  return text;
}

std::vector<std::string> types_of(const Json& response) {
  std::vector<std::string> types;
  for (const Json& item : response.at("output").elements())
    types.push_back(item.get_string("type"));
  return types;
}

// Returns the events of a stream, and checks their names and numbers.
std::vector<Json> events_of(const http::Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::vector<Json> events;
  const std::string& body = answer.body;
  for (size_t at = body.find("event: "); at != std::string::npos; at = body.find("event: ", at)) {
    const size_t line = body.find('\n', at), end = body.find("\n\n", at);
    events.push_back(Json::parse(body.substr(line + 7, end - line - 7), "event"));
    EXPECT_EQ(events.back().get_string("type"), body.substr(at + 7, line - at - 7));
    EXPECT_EQ(events.back().get_int("sequence_number"), std::ssize(events) - 1);
    at = end;
  }
  return events;
}

// Returns the names of events without "response.", consecutive repetitions once.
std::vector<std::string> names_of(const std::vector<Json>& events) {
  std::vector<std::string> names;
  for (const Json& event : events) {
    const std::string name = event.get_string("type").substr(9);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// Returns the joined deltas of a kind.
std::string deltas_of(const std::vector<Json>& events, const std::string& kind) {
  std::string text;
  for (const Json& event : events) {
    if (event.get_string("type") == "response." + kind + ".delta")
      text += event.get_string("delta");
  }
  return text;
}

// Makes the model write this text for any prompt.
std::string writes(const std::string& text) {
  JsonWriter literal, grammar;
  literal.value(text);
  grammar.value("root ::= " + literal.text());
  return "\"grammar\":" + grammar.text();
}

class Responses : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // With the same path, both would be one model.
    folder_ = new TempDir();
    const std::filesystem::path twin = folder_->path() / "twin";
    std::filesystem::copy(demo_model_folder(), twin);
    Options options = demo_options();
    options.models.models.push_back({"twin", twin.string()});
    shared_ = new DemoServer(std::move(options));
  }
  static void TearDownTestSuite() {
    delete shared_;
    delete folder_;
    shared_ = nullptr;
    folder_ = nullptr;
  }
  static DemoServer& server() { return *shared_; }
  static http::Answer post(const std::string& body) { return server().post(kPath, body); }

 private:
  static TempDir* folder_;
  static DemoServer* shared_;
};
TempDir* Responses::folder_ = nullptr;
DemoServer* Responses::shared_ = nullptr;

TEST_F(Responses, AreWholeOrStreams) {
  const Json whole = answer_of(post(ask(R"("max_output_tokens":20,"metadata":{"a":"b"})")));
  EXPECT_EQ(whole.get_string("object"), "response");
  EXPECT_EQ(whole.get_string("status"), "incomplete");
  EXPECT_EQ(whole.at("incomplete_details").get_string("reason"), "max_output_tokens");
  EXPECT_EQ(whole.at("usage").get_int("output_tokens"), 20);
  EXPECT_EQ(whole.at("metadata").dump(), R"({"a":"b"})");
  EXPECT_EQ(types_of(whole), std::vector<std::string>{"message"});
  const Json chat =
      answer_of(server().post("/v1/chat/completions", story_chat(R"("max_tokens":20)")));
  EXPECT_EQ(text_of(whole), chat.at("choices").at(size_t{0}).at("message").get_string("content"));

  const auto events = events_of(post(ask(R"("max_output_tokens":20,"stream":true)")));
  EXPECT_EQ(names_of(events),
            (std::vector<std::string>{"created", "in_progress", "output_item.added",
                                      "content_part.added", "output_text.delta", "output_text.done",
                                      "content_part.done", "output_item.done", "incomplete"}));
  EXPECT_EQ(deltas_of(events, "output_text"), text_of(whole));
  const Json last = events.back().at("response");
  EXPECT_EQ(text_of(last), text_of(whole));
  const std::string item = last.at("output").at(size_t{0}).get_string("id");
  for (const Json& event : events) {
    EXPECT_EQ(event.has("item_id"), event.has("content_index"));
    if (event.has("item_id")) {
      EXPECT_EQ(event.get_string("item_id"), item);
      EXPECT_EQ(event.get_int("content_index"), 0);
    }
    if (event.has("item_id") || event.has("item")) {
      EXPECT_EQ(event.get_int("output_index"), 0);
    } else {
      EXPECT_EQ(event.at("response").get_string("id"), last.get_string("id"));
    }
  }
}

TEST_F(Responses, TakeProbes) {
  for (const char* input : {"[]", R"("")", R"([{"role":"developer","content":"Be brief."}])"}) {
    const Json probe =
        answer_of(post(fmt::format(R"({{"input":{},"max_output_tokens":1}})", input)));
    EXPECT_EQ(probe.at("usage").get_int("output_tokens"), 1) << input;
    EXPECT_EQ(probe.at("output").size(), 1U);
  }
}

TEST_F(Responses, HaveLogprobsWhereTheyAreIncluded) {
  const std::string request =
      R"("max_output_tokens":6,"top_logprobs":2,"include":["message.output_text.logprobs"])";
  const Json part =
      answer_of(post(ask(request))).at("output").at(size_t{0}).at("content").at(size_t{0});
  ASSERT_EQ(part.at("logprobs").size(), 6U);
  EXPECT_EQ(part.at("logprobs").at(size_t{0}).at("top_logprobs").size(), 2U);
  std::string text;
  for (const Json& token : part.at("logprobs").elements()) text += token.get_string("token");
  EXPECT_EQ(text, part.get_string("text"));
  size_t count = 0;
  for (const Json& event : events_of(post(ask(request + R"(,"stream":true)")))) {
    if (event.get_string("type") == "response.output_text.delta") {
      count += event.at("logprobs").size();
    }
  }
  EXPECT_EQ(count, 6U);
}

TEST_F(Responses, HaveTheFormThatTheyAreAskedFor) {
  const std::string format =
      R"("text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":)"
      R"({"type":"object","properties":{"legs":{"type":"integer","minimum":2,"maximum":4}},)"
      R"("required":["legs"],"additionalProperties":false}}})";
  const Json answer = answer_of(post(ask(format)));
  EXPECT_TRUE(Json::parse(text_of(answer), "text").at("legs").is_integer(2, 4));
  EXPECT_EQ(answer.at("text").at("format").get_string("name"), "a");
  answer_of(post(ask(R"("max_output_tokens":30,"text":{"format":{"type":"json_object"}})")));
  EXPECT_EQ(error_of(post(ask(R"("text":{"format":{"type":"xml"}})"))),
            "400 text.format: text.format: the type \"xml\" is not text, json_object or "
            "json_schema");
}

TEST_F(Responses, GoOnFromStoredOnes) {
  const Json first = answer_of(post(ask(R"("max_output_tokens":16)")));
  const std::string id = first.get_string("id");
  const std::string next = fmt::format(
      R"({{"previous_response_id":"{}","input":"And then?","max_output_tokens":16}})", id);
  const Json second = answer_of(post(next));
  EXPECT_EQ(second.get_string("previous_response_id"), id);
  // The same as sending the whole conversation, as items or by their ids.
  const auto conversation = [&](const std::string& said) {
    return R"({"input":[{"role":"user","content":"Tell me a story about a fox called Mia."},)" +
           said + R"(,{"role":"user","content":"And then?"}],"max_output_tokens":16})";
  };
  const Json item = first.at("output").at(size_t{0});
  for (const std::string& said :
       {item.dump(), R"({"type":"item_reference","id":")" + item.get_string("id") + "\"}"}) {
    const Json whole = answer_of(post(conversation(said)));
    EXPECT_EQ(text_of(whole), text_of(second));
    EXPECT_EQ(whole.at("usage").get_int("input_tokens"),
              second.at("usage").get_int("input_tokens"));
  }
  // Several clients continue from one response; a third turn sees both.
  std::vector<std::string> texts(4);
  {
    std::vector<Thread> threads;
    for (std::string& text : texts) {
      threads.emplace_back([&] { text = text_of(answer_of(post(next))); });
    }
  }
  for (const std::string& text : texts) EXPECT_EQ(text, text_of(second));
  const Json third = answer_of(post(fmt::format(
      R"({{"previous_response_id":"{}","max_output_tokens":1}})", second.get_string("id"))));
  EXPECT_GT(third.at("usage").get_int("input_tokens"),
            second.at("usage").get_int("input_tokens") + 15);
  // Instructions apply to one request only.
  const Json told = answer_of(post(ask(R"("instructions":"Be brief.","max_output_tokens":4)")));
  const std::string count =
      fmt::format(R"({{"previous_response_id":"{}","input":"x"}})", told.get_string("id"));
  const int64_t without =
      answer_of(server().post("/v1/responses/input_tokens", count)).get_int("input_tokens");
  const Json with = answer_of(post(count.substr(0, count.size() - 1) +
                                   R"(,"instructions":"Be brief.","max_output_tokens":1})"));
  EXPECT_LT(without, with.at("usage").get_int("input_tokens"));
}

TEST_F(Responses, AreGivenAndDeleted) {
  const Json made = answer_of(post(ask(R"("max_output_tokens":4,"stream":false)")));
  const std::string path = "/v1/responses/" + made.get_string("id");
  EXPECT_EQ(answer_of(server().ask("GET", path)).dump(), made.dump());
  const std::string gone = fmt::format("no stored response \"{}\"", made.get_string("id"));
  EXPECT_EQ(
      answer_of(server().ask("DELETE", path)).dump(),
      fmt::format(R"({{"id":"{}","object":"response","deleted":true}})", made.get_string("id")));
  EXPECT_EQ(error_of(server().ask("GET", path)), "404 response_id: " + gone);
  EXPECT_EQ(error_of(server().ask("DELETE", path)), "404 response_id: " + gone);
  EXPECT_EQ(error_of(server().post(path + "/cancel", "")), "404 response_id: " + gone);
  const http::Answer refused =
      post(fmt::format(R"({{"previous_response_id":"{}","input":"x"}})", made.get_string("id")));
  EXPECT_EQ(error_of(refused), "400 previous_response_id: previous_response_id: " + gone);
  EXPECT_EQ(json_of(refused).at("error").get_string("code"), "previous_response_not_found");
  // A response that is not stored cannot be retrieved.
  const Json loose = answer_of(post(ask(R"("max_output_tokens":4,"store":false)")));
  EXPECT_EQ(server().ask("GET", "/v1/responses/" + loose.get_string("id")).status, 404);
  EXPECT_EQ(server().ask("PUT", path).status, 405);
  EXPECT_EQ(error_of(server().ask("GET", "/v1/responses/input_tokens")),
            "404 response_id: no stored response \"input_tokens\"");
  EXPECT_EQ(error_of(server().ask("GET", path + "?stream=true")),
            "400 stream: stream: a response that was written is given as a whole");
}

TEST_F(Responses, ListTheirInput) {
  const Json made = answer_of(post(
      R"({"input":[{"role":"user","content":"a"},{"id":"m","role":"user","content":"b"},)"
      R"({"role":"user","content":[{"type":"input_text","text":"c"}]}],"max_output_tokens":2})"));
  const std::string path = "/v1/responses/" + made.get_string("id") + "/input_items";
  const auto said = [&](const std::string& query) {
    const Json list = answer_of(server().ask("GET", path + query));
    std::string text;
    for (const Json& item : list.at("data").elements()) {
      EXPECT_EQ(item.get_string("type"), "message");
      EXPECT_EQ(item.at("content").size(), 1U);
      text += item.at("content").at(size_t{0}).get_string("text");
    }
    return text + (list.get_bool("has_more") ? "..." : "");
  };
  EXPECT_EQ(said(""), "cba");
  EXPECT_EQ(said("?order=asc"), "abc");
  EXPECT_EQ(said("?limit=1"), "c...");
  EXPECT_EQ(said("?order=asc&limit=2"), "ab...");
  EXPECT_EQ(said("?after=m"), "a");
  EXPECT_EQ(said("?after=m&order=asc"), "c");
  const Json list = answer_of(server().ask("GET", path + "?limit=1"));
  EXPECT_EQ(said("?after=" + list.get_string("last_id")), "ba");
  EXPECT_EQ(said("?order=asc&after=" + list.get_string("last_id")), "");
  EXPECT_EQ(error_of(server().ask("GET", path + "?limit=0")),
            "400 limit: limit: expected 1 to 100");
  EXPECT_EQ(error_of(server().ask("GET", path + "?order=up")),
            "400 order: order: expected asc or desc");
  EXPECT_EQ(error_of(server().ask("GET", path + "?after=x")),
            "400 after: after: is the id of no item of this response");
}

TEST_F(Responses, AreCancelled) {
  const std::string forever = ask(R"("background":true,"ignore_eos":true,"max_output_tokens":400)");
  const Json begun = answer_of(post(forever));
  EXPECT_EQ(begun.get_string("status"), "in_progress");
  const std::string path = "/v1/responses/" + begun.get_string("id");
  const Json cancelled = answer_of(server().post(path + "/cancel", ""));
  const std::string status = cancelled.get_string("status");
  // It may have ended before the cancellation.
  EXPECT_TRUE(status == "cancelled" || status == "incomplete") << status;
  EXPECT_EQ(answer_of(server().ask("GET", path)).dump(), cancelled.dump());
  EXPECT_EQ(answer_of(server().post(path + "/cancel", "")).dump(), cancelled.dump());
  // A response that has ended and was not in the background.
  const Json over = answer_of(post(ask(R"("max_output_tokens":2)")));
  EXPECT_EQ(error_of(server().post("/v1/responses/" + over.get_string("id") + "/cancel", "")),
            fmt::format("400 response_id: \"{}\" has ended already", over.get_string("id")));
}

TEST_F(Responses, AreWrittenInTheBackground) {
  const Json begun = answer_of(post(ask(R"("background":true,"max_output_tokens":8)")));
  const std::string path = "/v1/responses/" + begun.get_string("id");
  Json now = begun;
  for (int tries = 0; tries < 1000 && now.get_string("status") == "in_progress"; ++tries) {
    std::this_thread::sleep_for(5ms);
    now = answer_of(server().ask("GET", path));
  }
  EXPECT_EQ(now.get_string("status"), "incomplete");
  EXPECT_EQ(now.at("usage").get_int("output_tokens"), 8);
  EXPECT_EQ(error_of(post(ask(R"("background":true,"store":false)"))),
            "400 background: background: needs a response that is stored");
}

TEST_F(Responses, FieldsWithoutEffectAreNamed) {
  const auto ignored = [](const std::string& path, const std::string& more) {
    const http::Answer answer = server().post(path, ask(more));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(http::find_field(answer.headers, "x-ignored-fields"));
  };
  const std::string fields =
      R"("unheard_of":1,"reasoning":{"effort":"high"},"top_logprobs":2,"tools":[)"
      R"({"type":"web_search"},{"type":"mcp"},{"type":"web_search"}],"max_output_tokens":1)";
  constexpr const char* kNames = "unheard_of, top_logprobs, reasoning, tools.mcp, tools.web_search";
  EXPECT_EQ(ignored(kPath, fields), kNames);
  EXPECT_EQ(ignored(kPath, fields + R"(,"stream":true)"), kNames);
  EXPECT_EQ(ignored(kPath, fields + R"(,"background":true)"), kNames);
  EXPECT_EQ(ignored("/v1/responses/input_tokens", fields), kNames);
  EXPECT_EQ(ignored(kPath, R"("max_output_tokens":1,"user":"me","truncation":"auto")"), "");
}

// Forms are compiled in a separate thread, after the request was read.
TEST_F(Responses, FormsThatCannotBeMetAreRefused) {
  const std::string form =
      R"("text":{"format":{"type":"json_schema","name":"a","schema":{"type":"unheard_of"}}})";
  for (const char* more : {"", R"(,"stream":true)", R"(,"background":true)"}) {
    const std::string said = error_of(post(ask(form + more)));
    EXPECT_TRUE(said.starts_with("400 text.format: ")) << said;
  }
}

TEST_F(Responses, ErrorsNameTheField) {
  const Json other = answer_of(post(ask(R"("model":"twin","max_output_tokens":2)")));
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  std::string tools;
  for (int i = 0; i < 10'000; ++i) {
    tools += fmt::format(R"({}{{"type":"function","name":"f{}"}})", i == 0 ? "" : ",", i);
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "400 input: input: is missing"},
      {R"({"messages":[]})", "400 messages: messages is not supported: use input"},
      {R"({"input":[{"role":"king","content":"x"}]})",
       "400 input[0].role: input[0].role: \"king\""},
      {R"({"input":)" + deep + "}", "400 -: "},
      {R"({"input":[{"role":"user","content":)" + deep + "}]}", "400 -: "},
      {ask("\"tools\":[" + tools + "]"), "400 tools: tools: has 10000 tools, at most 1024"},
      {ask(R"("tools":[{}])"), "400 tools: tools[0].type: expected a string"},
      {ask(R"("tool_choice":{"type":"web_search"},"tools":[{"type":"web_search"}])"),
       "400 tool_choice: tool_choice: no tools to choose from"},
      {ask(R"("model":"gone")"), "404 model: "},
      {ask(R"("max_output_tokens":0)"), "400 max_output_tokens: "},
      {ask(R"("max_output_tokens":"x")"), "400 max_output_tokens: "},
      {ask(R"("temperature":-1)"), "400 temperature: "},
      {ask(R"("stream":"yes")"), "400 stream: "},
      {ask(R"("store":1)"), "400 store: "},
      {ask(R"("n":2)"), "400 n: n is not supported: a response has one answer"},
      {ask(R"("conversation":"conv_1")"), "400 conversation: conversation is not supported"},
      {ask(R"("prompt":{"id":"p"})"), "400 prompt: prompt is not supported"},
      {ask(R"("metadata":[1])"), "400 metadata: "},
      {ask(R"("metadata":{"a":1})"), "400 metadata: "},
      {ask(R"("reasoning":"high")"), "400 reasoning: reasoning: expected an object"},
      {ask(R"("reasoning":{"effort":1})"), "400 reasoning: "},
      {ask(R"("user":1)"), "400 user: "},
      {ask(R"("min_tokens":5,"text":{"format":{"type":"json_object"}})"),
       "400 min_tokens: min_tokens: the answer's form is given by text.format"},
      {ask(R"("text":5)"), "400 text: text: expected an object"},
      {ask(R"("text":{"verbosity":"low"})"), "400 text.verbosity: "},
      {ask(R"("text":{"verbosity":1})"), "400 text.verbosity: "},
      {ask(R"("text":{"format":{"type":1}})"), "400 text.format: "},
      {ask(R"("text":{"format":{"type":"json_schema","name":"a"}})"),
       "400 text.format: text.format: schema (or json_schema.schema) is missing"},
      {ask(R"("tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools",)"
           R"("mode":"auto","tools":[-1]})"),
       "400 tool_choice: tool_choice: expected an object with the name of a function"},
      {ask("\"previous_response_id\":\"" + std::string(100'000, 'x') + "\""),
       "400 previous_response_id: previous_response_id: no stored response \"xxx"},
      {ask(R"("include":"x")"), ""},
      {ask(R"("include":{"a":1})"), "400 include: "},
      {ask(R"("previous_response_id":7)"), "400 previous_response_id: "},
      {ask(R"("previous_response_id":"../x")"),
       "400 previous_response_id: previous_response_id: no stored response \"../x"},
      {fmt::format(R"({{"previous_response_id":"{}","input":"x"}})", other.get_string("id")),
       "400 previous_response_id: previous_response_id: model \"twin\" wrote that response, not "},
      {R"({"input":[{"type":"item_reference","id":"msg_1_0"}]})",
       "400 input[0].id: input[0].id: no stored item \"msg_1_0\""},
      {R"({"input":[{"type":"item_reference"}]})",
       "400 input[0].id: input[0].id: expected a string"},
      {R"({"input":")" + std::string(9000, 'a') + "\"}", "400 input: the prompt has "},
  };
  for (const auto& [body, wanted] : cases) {
    const http::Answer answer = post(body);
    if (wanted.empty()) {
      EXPECT_EQ(answer.status, 200) << body;
      continue;
    }
    EXPECT_TRUE(error_of(answer).starts_with(wanted)) << body.substr(0, 200) << "\n" << answer.body;
    EXPECT_EQ(answer.body.find('\n'), std::string::npos);
    EXPECT_LT(answer.body.size(), 400U);
  }
  EXPECT_EQ(post(ask(R"("max_output_tokens":2)")).status, 200);
}

TEST(StoredResponses, AreFoundByTheNextServer) {
  const TempDir folder;
  Options options = demo_options();
  options.responses.folder = folder.path();
  std::string id;
  int64_t tokens = 0;
  {
    const DemoServer server(options);
    const Json first = answer_of(server.post(kPath, ask(R"("max_output_tokens":8)")));
    id = first.get_string("id");
    tokens = first.at("usage").get_int("total_tokens");
  }
  {
    const DemoServer server(options);
    const Json next = answer_of(server.post(
        kPath,
        fmt::format(R"({{"previous_response_id":"{}","input":"x","max_output_tokens":1}})", id)));
    EXPECT_GT(next.at("usage").get_int("input_tokens"), tokens);
  }
  options.responses.limit = 0;
  const DemoServer server(options);
  const http::Answer refused =
      server.post(kPath, fmt::format(R"({{"previous_response_id":"{}","input":"x"}})", id));
  EXPECT_EQ(error_of(refused),
            "400 previous_response_id: previous_response_id: this server stores no responses "
            "(--stored-responses 0): send the whole input");
  EXPECT_FALSE(answer_of(server.post(kPath, ask(R"("max_output_tokens":1)"))).get_bool("store"));
}

constexpr const char* kTools =
    R"("tools":[{"type":"web_search"},{"type":"namespace","name":"n","tools":[]},{"type":"custom",)"
    R"("name":"apply_patch"},{"type":"image_generation"},{"type":"function","name":"weather",)"
    R"("description":"Tells","strict":false,"parameters":{"type":"object","properties":{"city":)"
    R"({"type":"string","pattern":"^[a-z]{1,5}$"}},"required":["city"],)"
    R"("additionalProperties":false}}])";

TEST(ResponseTools, AreCalled) {
  const ToolServer server(model_output::kHermes);
  const std::string required = std::string(kTools) +
                               R"(,"tool_choice":"required")"
                               R"(,"parallel_tool_calls":false,"max_output_tokens":100)";
  const Json whole = answer_of(server.respond(ask(required)));
  EXPECT_EQ(types_of(whole), std::vector<std::string>{"function_call"});
  EXPECT_EQ(whole.get_string("status"), "completed");
  const Json call = whole.at("output").at(size_t{0});
  EXPECT_EQ(call.get_string("name"), "weather");
  EXPECT_EQ(call.get_string("status"), "completed");
  EXPECT_EQ(Json::parse(call.get_string("arguments"), "arguments").keys(),
            std::vector<std::string>{"city"});
  // Unsupported kinds of tools are not offered.
  ASSERT_EQ(whole.at("tools").size(), 1U);
  EXPECT_EQ(whole.at("tools").at(size_t{0}).get_string("name"), "weather");

  const auto events = events_of(server.respond(ask(required + R"(,"stream":true)")));
  EXPECT_EQ(names_of(events),
            (std::vector<std::string>{
                "created", "in_progress", "output_item.added", "function_call_arguments.delta",
                "function_call_arguments.done", "output_item.done", "completed"}));
  EXPECT_EQ(deltas_of(events, "function_call_arguments"), call.get_string("arguments"));
  const Json done = events[events.size() - 2].at("item");
  EXPECT_EQ(done.get_string("arguments"), call.get_string("arguments"));
  EXPECT_FALSE(done.get_string("call_id").empty());

  // The result is sent with the response's id.
  const Json next = answer_of(server.respond(fmt::format(
      R"({{"previous_response_id":"{}","input":[{{"type":"function_call_output","call_id":"{}",)"
      R"("output":"sun"}}],"max_output_tokens":5}})",
      whole.get_string("id"), call.get_string("call_id"))));
  const Json plain = answer_of(server.post("/v1/responses/input_tokens", ask(R"("store":false)")));
  EXPECT_GT(next.at("usage").get_int("input_tokens"), plain.get_int("input_tokens") + 20);
  EXPECT_EQ(types_of(next), std::vector<std::string>{"message"});
}

TEST(ResponseTools, MayBeChosenOrAllowed) {
  const ToolServer server(model_output::kHermes);
  const auto choose = [&](const std::string& choice) {
    return server.respond(
        ask(std::string(kTools) + R"(,"max_output_tokens":60,"tool_choice":)" + choice));
  };
  EXPECT_EQ(types_of(answer_of(choose(R"({"type":"function","name":"weather"})"))).front(),
            "function_call");
  EXPECT_EQ(
      types_of(answer_of(choose(
                   R"({"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"},)"
                   R"({"type":"function","name":"weather"}]})")))
          .front(),
      "function_call");
  EXPECT_EQ(types_of(answer_of(choose(R"("none")"))).front(), "message");
  EXPECT_EQ(error_of(choose(R"({"type":"custom","name":"apply_patch"})")),
            "400 tool_choice: tool_choice: the type \"custom\" is not function or allowed_tools");
  EXPECT_EQ(error_of(choose(R"({"type":"function","name":"gone"})")),
            "400 tool_choice: tool_choice: unknown tool \"gone\"");
}

TEST(ResponseTools, ComeAfterTextAndMayBreakOff) {
  const ToolServer server(model_output::kHermes);
  const std::string tools = std::string(kTools) + R"(,"max_output_tokens":100,)";
  const std::string two =
      "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"ab\"}}\n"
      "</tool_call>\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"cd\"}}\n"
      "</tool_call>";
  const std::vector<std::string> types{"message", "function_call", "function_call"};
  EXPECT_EQ(types_of(answer_of(server.respond(ask(tools + writes(two))))), types);
  const auto events = events_of(server.respond(ask(tools + writes(two) + R"(,"stream":true)")));
  EXPECT_EQ(types_of(events.back().at("response")), types);
  // Each item is added and done, in order.
  std::vector<int64_t> added, done;
  for (const Json& event : events) {
    const std::string type = event.get_string("type");
    if (type == "response.output_item.added") added.push_back(event.get_int("output_index"));
    if (type == "response.output_item.done") done.push_back(event.get_int("output_index"));
  }
  EXPECT_EQ(added, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(done, added);

  // A broken call becomes text; in a stream that has begun the call it stays incomplete.
  const std::string broken =
      "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\": oops}}\n</tool_call>";
  const Json whole = answer_of(server.respond(ask(tools + writes(broken))));
  EXPECT_EQ(text_of(whole), broken);
  const auto cut = events_of(server.respond(ask(tools + writes(broken) + R"(,"stream":true)")));
  const Json item = cut.back().at("response").at("output").at(size_t{0});
  EXPECT_EQ(item.get_string("status"), "incomplete");
  EXPECT_EQ(deltas_of(cut, "function_call_arguments"), item.get_string("arguments"));
  // Clients send it back nevertheless.
  const Json next = answer_of(
      server.respond(R"({"input":[{"role":"user","content":"Go"},)" + item.dump() +
                     R"(,{"type":"function_call_output","call_id":")" + item.get_string("call_id") +
                     R"(","output":"no JSON"}],"max_output_tokens":3})"));
  EXPECT_EQ(types_of(next), std::vector<std::string>{"message"});
}

TEST(ResponseReasoning, IsAnItemOfItsOwn) {
  const ToolServer server(
      "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<think>\n"
      "{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}[end]\n{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}",
      0);
  const std::string request = ask(writes("<think>\nhm, hm\n</think>\n\nYes.") +
                                  R"(,"include":["reasoning.encrypted_content"],"store":false)");
  const Json whole = answer_of(server.respond(request));
  ASSERT_EQ(types_of(whole), (std::vector<std::string>{"reasoning", "message"}));
  const Json thoughts = whole.at("output").at(size_t{0});
  EXPECT_EQ(thoughts.at("content").at(size_t{0}).get_string("text"), "hm, hm");
  EXPECT_EQ(text_of(whole), "Yes.");
  EXPECT_GT(whole.at("usage").at("output_tokens_details").get_int("reasoning_tokens"), 2);
  const auto events =
      events_of(server.respond(request.substr(0, request.size() - 1) + R"(,"stream":true})"));
  EXPECT_EQ(deltas_of(events, "reasoning_text"), "hm, hm");
  EXPECT_EQ(names_of(events),
            (std::vector<std::string>{
                "created", "in_progress", "output_item.added", "content_part.added",
                "reasoning_text.delta", "reasoning_text.done", "content_part.done",
                "output_item.done", "output_item.added", "content_part.added", "output_text.delta",
                "output_text.done", "content_part.done", "output_item.done", "completed"}));
  // A client without a store sends it back in either form.
  const auto tokens = [&](const std::string& item) {
    return answer_of(server.post("/v1/responses/input_tokens",
                                 R"({"input":[{"role":"user","content":"x"},)" + item +
                                     R"(,{"role":"assistant","content":"Yes."}]})"))
        .get_int("input_tokens");
  };
  const std::string sealed = R"({"type":"reasoning","summary":[],"encrypted_content":")" +
                             thoughts.get_string("encrypted_content") + "\"}";
  EXPECT_EQ(tokens(sealed), tokens(thoughts.dump()));
  EXPECT_GT(tokens(sealed), tokens(R"({"type":"reasoning","summary":[]})"));
}

}  // namespace
}  // namespace pippin::server
