#include "pippin/server/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/unit_vector.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/server/routes.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;
using http::find_field;

// Returns the data of a stream's events.
std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (size_t at = body.find("data: "); at != std::string::npos; at = body.find("data: ", at)) {
    const size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end;
  }
  return events;
}

std::string content_of(const Answer& answer) {
  return json_of(answer).at("choices").at(size_t{0}).at("message").get_string("content");
}

std::string streamed_content(const Answer& answer) {
  std::string text;
  for (const std::string& event : events_of(answer.body)) {
    if (event == "[DONE]") continue;
    const Json choices = Json::parse(event, "event").at("choices");
    if (choices.size() > 0) {
      text += choices.at(size_t{0}).at("delta").get_string_or("content", "");
    }
  }
  return text;
}

class Serving : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static DemoServer& server() { return *shared_; }

  // Waits until no request runs; false: that takes too long.
  static bool comes_to_rest() {
    for (int tries = 0; tries < 1000; ++tries) {
      const Json model = json_of(server().ask("GET", "/status")).at("models").at(size_t{0});
      if (model.get_int("waiting") + model.get_int("reading") + model.get_int("decoding") == 0) {
        return true;
      }
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

 private:
  static DemoServer* shared_;
};
DemoServer* Serving::shared_ = nullptr;

TEST_F(Serving, AnswersWholeAndAsAStream) {
  const Answer whole = server().post("/v1/chat/completions", story_chat(R"("max_tokens":30)"));
  ASSERT_EQ(whole.status, 200) << whole.body;
  const Json json = json_of(whole);
  EXPECT_EQ(json.get_string("object"), "chat.completion");
  EXPECT_EQ(json.get_string("model"), "demo");
  EXPECT_EQ(json.at("usage").get_int("completion_tokens"), 30);
  EXPECT_EQ(json.at("choices").at(size_t{0}).get_string("finish_reason"), "length");

  const Answer stream = server().post(
      "/v1/chat/completions",
      story_chat(R"("max_tokens":30,"stream":true,"stream_options":{"include_usage":true})"));
  EXPECT_EQ(find_field(stream.headers, "content-type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(streamed_content(stream), content_of(whole));
  const auto events = events_of(stream.body);
  ASSERT_GT(events.size(), 4u);
  EXPECT_EQ(Json::parse(events[0], "event").at("choices").at(size_t{0}).at("delta").dump(),
            R"({"role":"assistant","content":"","refusal":null})");
  const Json finish = Json::parse(events[events.size() - 3], "event").at("choices").at(size_t{0});
  EXPECT_EQ(finish.at("delta").dump(), "{}");
  EXPECT_EQ(finish.get_string("finish_reason"), "length");
  const Json usage = Json::parse(events[events.size() - 2], "event");
  EXPECT_EQ(usage.at("choices").size(), 0u);
  EXPECT_EQ(usage.at("usage").get_int("total_tokens"), json.at("usage").get_int("total_tokens"));
  // All but the last token of the prompt, whose logits are needed.
  EXPECT_EQ(usage.at("usage").at("prompt_tokens_details").get_int("cached_tokens"),
            json.at("usage").get_int("prompt_tokens") - 1);
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(Serving, GivesEachTheTextThatItGetsAlone) {
  constexpr size_t kMany = 16;
  const auto body = [](size_t i) {
    return fmt::format(
        R"({{"messages":[{{"role":"user","content":"Tell me a story about number {}."}}],)"
        R"("max_tokens":12,"temperature":{},"seed":{}}})",
        i, i % 2, i);
  };
  std::vector<std::string> alone(kMany), together(kMany);
  for (size_t i = 0; i < kMany; ++i) {
    alone[i] = content_of(server().post("/v1/chat/completions", body(i)));
  }
  std::vector<Thread> threads;
  for (size_t i = 0; i < kMany; ++i) {
    threads.emplace_back(
        [&, i] { together[i] = content_of(server().post("/v1/chat/completions", body(i))); });
  }
  threads.clear();
  EXPECT_EQ(together, alone);
}

TEST_F(Serving, NamesTheFieldThatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "400 -: request: not valid JSON at byte 1 (line 1, column 0): "},
      {"[]", "400 -: request: expected an object of JSON"},
      {"{}", "400 messages: messages: is missing"},
      {R"({"messages":[]})", "400 messages: messages: expected a list of at least one message"},
      {R"({"messages":[1]})", "400 messages[0]: messages[0]: expected an object"},
      {R"({"messages":[{"role":"user"}]})", "400 messages[0]: messages[0]: has no content"},
      {R"({"messages":[{"role":3,"content":""}]})",
       "400 messages[0].role: messages[0].role: expected a string"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "400 messages[0].content[0].image_url: messages[0].content[0].image_url: has no url"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":)"
       R"("data:;base64,eA=="}]}]})",
       "400 messages[0].content[0]: messages[0].content[0]: the model takes text only, not "
       "image_url"},
      {story_chat(R"("temperature":"hot")"),
       "400 temperature: request: temperature: expected a number"},
      {story_chat(R"("temperature":-1)"), "400 temperature: temperature is -1, must be 0 or more"},
      {story_chat(R"("top_p":2)"), "400 top_p: top_p is 2, must be "},
      {story_chat(R"("xtc_probability":2)"), "400 xtc_probability: xtc_probability is 2, must be "},
      {story_chat(R"("dry_base":0.5)"), "400 dry_base: dry_base is 0.5, must be 1 or more"},
      {story_chat(R"("n":0)"), "400 n: request: n: "},
      {story_chat(R"("max_tokens":1.5)"), "400 max_tokens: request: max_tokens: "},
      {story_chat(R"("prediction":5)"), "400 prediction: request: prediction: "},
      {story_chat(R"("speculative.n_max":-2)"),
       "400 speculative.n_max: request: speculative.n_max: "},
      {story_chat(R"("stop":5)"), "400 stop: request: stop: "},
      {story_chat(R"("stream":1)"), "400 stream: request: stream: "},
      {story_chat(R"("top_logprobs":2)"), "400 top_logprobs: top_logprobs: needs logprobs"},
      {story_chat(R"("logprobs":true,"top_logprobs":99)"),
       "400 top_logprobs: request: top_logprobs: "},
      {story_chat(R"("logit_bias":{"x":1})"),
       "400 logit_bias: request: logit_bias: \"x\" is not a token"},
      {story_chat(R"("logit_bias":{"99999":1})"),
       "400 logit_bias: logit_bias: token 99999 is not in the vocabulary"},
      {story_chat(R"("tools":[{"type":"function"}])"), "400 tools: tools[0].name: is missing"},
      {story_chat(R"("response_format":{"type":"xml"})"),
       "400 response_format: response_format: the type \"xml\" is not text, json_object or "
       "json_schema"},
      {story_chat(R"("response_format":{"type":"json_schema"})"),
       "400 response_format: response_format: schema (or json_schema.schema) is missing"},
      {story_chat(R"("json_schema":{"properties":{"a":{"pattern":"["}}})"),
       "400 json_schema: json_schema: #/properties/a/pattern: the pattern is broken at byte 1"},
      {story_chat("\"guided_regex\":\"(\""),
       "400 guided_regex: guided_regex: regular expression: "},
      {story_chat(R"("guided_choice":[])"), "400 guided_choice: guided_choice: there is nothing"},
      {story_chat(R"("grammar":"root ::= x")"),
       "400 grammar: grammar: grammar, line 1, column 11: the rule \"x\" is not defined"},
      {story_chat(R"("grammar":"root ::= \"a\"","guided_regex":"a")"),
       "400 guided_regex: guided_regex: the answer's form is given by grammar already"},
      {story_chat(R"("reasoning_effort":5)"), "400 reasoning_effort: "},
      {story_chat(R"("model":"gone")"), "404 model: unknown model \"gone\" (known: demo)"},
  };
  for (const auto& [body, wanted] : cases) {
    const std::string error = error_of(server().post("/v1/chat/completions", body));
    EXPECT_TRUE(error.starts_with(wanted)) << body << "\n" << error;
  }
  std::string stops;
  for (int i = 0; i < 10000; ++i) stops += (i == 0 ? "" : ",") + fmt::format("\"{}\"", i);
  EXPECT_EQ(error_of(server().post("/v1/chat/completions", story_chat("\"stop\":[" + stops + "]"))),
            "400 stop: request: stop: 10000 strings, at most 256 are taken");
  const std::string deep(200, '[');
  EXPECT_EQ(server().post("/v1/chat/completions", "{\"messages\":" + deep).status, 400);
}

TEST_F(Serving, AcceptsWhatDoesNotChangeTheText) {
  const std::string plain =
      content_of(server().post("/v1/chat/completions", story_chat(R"("max_tokens":10)")));
  const Answer answer = server().post(
      "/v1/chat/completions",
      story_chat(R"("max_completion_tokens":10,"user":"me","metadata":{"a":"b"},"store":false,)"
                 R"("service_tier":"auto","tools":[],"tool_choice":"auto","modalities":["text"],)"
                 R"("prediction":{"type":"content","content":"x"},"parallel_tool_calls":true,)"
                 R"("response_format":{"type":"text"},"prompt_cache_key":"k","functions":null,)"
                 R"("stop":null,"logit_bias":null,"seed":null,"unheard_of":[1])"));
  EXPECT_EQ(content_of(answer), plain);
}

TEST_F(Serving, MessagesHaveTheFormThatIsAskedFor) {
  const std::string format =
      R"({"type":"json_schema","schema":{"type":"object","properties":{"kind":{"enum":["fox","hen"]}},)"
      R"("required":["kind"],"additionalProperties":false}})";
  for (const std::string& field :
       {"\"output_format\":" + format, "\"output_config\":{\"format\":" + format + "}"}) {
    const Answer answer = server().post("/v1/messages", story_chat("\"max_tokens\":50," + field));
    const std::string text = json_of(answer).at("content").at(size_t{0}).get_string("text");
    EXPECT_EQ(Json::parse(text, "answer").keys(), std::vector<std::string>{"kind"});
  }
  const auto error = [](const std::string& more) {
    return json_of(server().post("/v1/messages", story_chat("\"max_tokens\":5," + more)))
        .at("error")
        .get_string("message");
  };
  EXPECT_EQ(error(R"("output_format":{"type":"xml"})"),
            "output_format: the type \"xml\" is not json_schema");
  EXPECT_EQ(error(R"("output_format":{"type":"json_schema"})"), "output_format: schema is missing");
}

TEST_F(Serving, AnswersInTheFormThatIsAskedFor) {
  const auto answer_to = [](const std::string& more) {
    return content_of(
        server().post("/v1/chat/completions", story_chat("\"max_tokens\":200," + more)));
  };
  const std::string schema =
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},)"
      R"("age":{"type":"integer","minimum":1,"maximum":99},"kind":{"enum":["fox","hen"]}},)"
      R"("required":["name","age","kind"],"additionalProperties":false})";
  for (const std::string more :
       {"", R"("temperature":1.5,"seed":3,)", R"("temperature":1,"seed":4,)"}) {
    const std::string format = R"("response_format":{"type":"json_schema","json_schema":{)"
                               R"("name":"x","strict":true,"schema":)";
    const Json value = Json::parse(answer_to(more + format + schema + "}}"), "answer");
    EXPECT_EQ(value.keys(), (std::vector<std::string>{"name", "age", "kind"}));
    EXPECT_TRUE(value.at("age").is_integer(1, 99));
  }
  for (const std::string field : {"json_schema", "guided_json"}) {
    EXPECT_NO_THROW(Json::parse(answer_to("\"" + field + "\":" + schema), "answer")) << field;
  }
  const std::string choice = answer_to(R"("guided_choice":["red","green"])");
  EXPECT_TRUE(choice == "red" || choice == "green") << choice;
  const std::string digits = answer_to(R"("guided_regex":"[0-9]{3}-[0-9]{2}")");
  EXPECT_EQ(digits.size(), 6U) << digits;
  const std::string grammar = answer_to(R"("grammar":"root ::= \"<\" [a-c]{2} \">\"")");
  EXPECT_EQ(grammar.size(), 4U) << grammar;
  // A truncated answer says so.
  const Json cut = json_of(server().post("/v1/chat/completions",
                                         story_chat(R"("max_tokens":3,"json_schema":)" + schema)));
  EXPECT_EQ(cut.at("choices").at(size_t{0}).get_string("finish_reason"), "length");
  const Json whole = json_of(server().post(
      "/v1/completions", R"({"prompt":"x","max_tokens":50,"guided_choice":["yes"]})"));
  EXPECT_EQ(whole.at("choices").at(size_t{0}).get_string("text"), "yes");
  EXPECT_EQ(whole.at("choices").at(size_t{0}).get_string("finish_reason"), "stop");
}

// Drafted tokens are computed together; the answer stays the same.
TEST_F(Serving, DraftsChangeNoAnswer) {
  const auto ask = [](const std::string& more) {
    return json_of(server().post("/v1/chat/completions", story_chat(R"("max_tokens":60,)" + more)));
  };
  const auto content = [](const Json& answer) {
    return answer.at("choices").at(size_t{0}).at("message").get_string("content");
  };
  const Json plain = ask(R"("speculative.n_max":0)");
  EXPECT_EQ(plain.at("timings").get_int("draft_n"), 0);
  const std::string text = content(plain);
  JsonWriter prediction;
  prediction.begin_object().member("type", "content").member("content", text).end_object();
  const Json predicted = ask("\"prediction\":" + prediction.text());
  EXPECT_EQ(content(predicted), text);
  const Json timings = predicted.at("timings");
  EXPECT_LE(timings.get_int("draft_n_accepted"), timings.get_int("draft_n"));
  const Json details = predicted.at("usage").at("completion_tokens_details");
  EXPECT_EQ(details.get_int("accepted_prediction_tokens"), timings.get_int("draft_n_accepted"));
  EXPECT_EQ(
      details.get_int("accepted_prediction_tokens") + details.get_int("rejected_prediction_tokens"),
      timings.get_int("draft_n"));
  EXPECT_EQ(content(ask(R"("prediction":{"type":"content","content":[{"type":"text","text":"a"},)"
                        R"({"type":"text","text":"b"}]})")),
            text);
}

TEST_F(Serving, TakesTextsOfAnyBytes) {
  // A lone surrogate in JSON, and bytes that are not UTF-8.
  for (const std::string text : {R"(\ud800)", "\\u0000", "\xff\xfe", "\xf0\x9f\x98\x80"}) {
    const Answer answer =
        server().post("/v1/chat/completions", R"({"messages":[{"role":"user","content":")" + text +
                                                  R"("}],"max_tokens":2})");
    EXPECT_TRUE(answer.status == 200 || answer.status == 400) << text << " " << answer.body;
    EXPECT_NO_THROW(json_of(answer)) << text;
  }
}

TEST_F(Serving, RefusesPromptsThatDoNotFit) {
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  const Answer answer = server().post(
      "/v1/chat/completions", R"({"messages":[{"role":"user","content":")" + words + R"("}]})");
  EXPECT_TRUE(error_of(answer).ends_with("tokens, the model's context holds 512")) << answer.body;
  EXPECT_EQ(json_of(answer).at("error").get_string("code"), "context_length_exceeded");
}

TEST_F(Serving, CompletesTexts) {
  const Answer answer = server().post(
      "/v1/completions", R"({"prompt":["Once upon a time","One day"],"max_tokens":6,"n":2})");
  EXPECT_EQ(json_of(answer).at("choices").size(), 4u);
  // Tokens instead of text, and the echoed text.
  const Json tokens =
      json_of(server().post("/tokenize", R"({"content":"Once upon a time","add_special":true})"))
          .at("tokens");
  const Answer of_text = server().post(
      "/v1/completions", R"({"prompt":"Once upon a time","max_tokens":6,"echo":true})");
  const Answer of_tokens = server().post(
      "/v1/completions", R"({"prompt":)" + tokens.dump() + R"(,"max_tokens":6,"echo":true})");
  const auto text_of = [](const Answer& a) {
    return json_of(a).at("choices").at(size_t{0}).get_string("text");
  };
  EXPECT_EQ(text_of(of_text), text_of(of_tokens));
  EXPECT_TRUE(text_of(of_text).starts_with("Once upon a time"));
  EXPECT_EQ(error_of(server().post("/v1/completions", R"({"prompt":"a","suffix":"b"})")),
            "400 suffix: suffix: the model has no tokens to fill in with");
  EXPECT_EQ(error_of(server().post("/v1/completions", R"({"prompt":[]})")),
            "400 prompt: prompt: expected a text, tokens, or a list of them");
  EXPECT_TRUE(error_of(server().post("/v1/completions", R"({"prompt":[1,99999]})"))
                  .starts_with("400 prompt: request: prompt[1]: "));
}

TEST_F(Serving, EmbedsTexts) {
  const auto ask_for = [](const std::string& fields) {
    return server().post("/v1/embeddings", "{" + fields + "}");
  };
  const Json json = json_of(ask_for(R"("input":["One fox","Two foxes","One fox"])"));
  const auto vector = [&](size_t i) { return json.at("data").at(i).at("embedding").as_floats(); };
  ASSERT_EQ(json.at("data").size(), 3u);
  double length = 0;
  for (const double x : vector(0)) length += x * x;
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_EQ(vector(0), vector(2));
  EXPECT_NE(vector(0), vector(1));
  const Json tokens =
      json_of(server().post("/tokenize", R"({"content":"One fox","add_special":true})"))
          .at("tokens");
  const Json of_tokens = json_of(ask_for("\"input\":" + tokens.dump()));
  EXPECT_EQ(of_tokens.at("data").at(size_t{0}).at("embedding").as_floats(), vector(0));
  const Json shorter = json_of(ask_for(R"("input":"One fox","dimensions":4)"));
  const auto four = shorter.at("data").at(size_t{0}).at("embedding").as_floats();
  ASSERT_EQ(four.size(), 4u);
  EXPECT_NEAR(four[0] / four[1], vector(0)[0] / vector(0)[1], 1e-4);
  EXPECT_EQ(error_of(ask_for(R"("input":"x","dimensions":100000)")),
            "400 dimensions: dimensions: the model's embeddings have " +
                std::to_string(vector(0).size()));
  EXPECT_EQ(error_of(ask_for(R"("input":[])")),
            "400 input: input: expected a text, tokens, or a list of them");
  EXPECT_EQ(error_of(ask_for(R"("input":"")")), "400 input: input: has no tokens");
}

TEST(Embeddings, ArePooled) {
  const std::vector<float> states = {3, 4, 0, 0, 0, 5};
  EXPECT_EQ(pool(states, 2, Pooling::First), (std::vector<float>{0.6F, 0.8F}));
  EXPECT_EQ(pool(states, 2, Pooling::Last), (std::vector<float>{0, 1}));
  EXPECT_EQ(pool(std::vector<float>{6, 0, 0, 8}, 2, Pooling::Mean),
            (std::vector<float>{0.6F, 0.8F}));
  std::vector<float> vector = {3, 4, 12};
  app::shorten(vector, 2);
  EXPECT_EQ(vector, (std::vector<float>{0.6F, 0.8F}));
}

TEST_F(Serving, SpeaksAnthropic) {
  const std::string body = R"({"model":"demo","max_tokens":12,)" + std::string(kStory) + "}";
  const Json whole = json_of(server().post("/v1/messages", body));
  EXPECT_EQ(whole.get_string("stop_reason"), "max_tokens");
  const std::string text = whole.at("content").at(size_t{0}).get_string("text");
  std::string streamed;
  const Answer stream =
      server().post("/v1/messages", R"({"stream":true,"model":"demo","max_tokens":12,)" +
                                        std::string(kStory) + "}");
  std::vector<std::string> kinds;
  for (const std::string& event : events_of(stream.body)) {
    const Json json = Json::parse(event, "event");
    if (kinds.empty() || kinds.back() != json.get_string("type")) {
      kinds.push_back(json.get_string("type"));
    }
    if (kinds.back() == "content_block_delta") streamed += json.at("delta").get_string("text");
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                      "content_block_stop", "message_delta", "message_stop"}));
  const Answer wrong = server().post("/v1/messages", story_chat());
  EXPECT_EQ(json_of(wrong).get_string("type"), "error");
  EXPECT_EQ(json_of(wrong).at("error").get_string("message"), "max_tokens: is missing");
  const Answer empty = server().post(
      "/v1/messages", R"({"max_tokens":2,"stop_sequences":["x",""],)" + std::string(kStory) + "}");
  EXPECT_EQ(json_of(empty).at("error").get_string("message"), "stop_sequences: a text is empty");
}

TEST_F(Serving, TokenizesAndAppliesTemplates) {
  const Answer tokens = server().post("/tokenize", R"({"content":"Once upon","with_pieces":true})");
  std::string text;
  for (const Json& token : json_of(tokens).at("tokens").elements()) {
    text += token.get_string("piece");
  }
  EXPECT_EQ(text, "Once upon");
  EXPECT_EQ(json_of(server().post("/apply-template", story_chat())).get_string("prompt"),
            "<|im_start|>user\nTell me a story about a fox called Mia.<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(
      json_of(server().post("/apply-template", R"({"messages":[{"role":"user","content":"A"},)"
                                               R"({"role":"assistant","content":null},)"
                                               R"({"role":"user","content":"B"}]})"))
          .get_string("prompt"),
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n"
      "<|im_start|>user\nB<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(error_of(server().post("/detokenize", R"({"tokens":[-1]})")),
            "400 tokens: request: tokens[0]: expected an integer from 0 to 2047, found -1");
}

TEST_F(Serving, TellsOfItself) {
  EXPECT_EQ(json_of(server().ask("GET", "/v1/models")).at("data").size(), 1u);
  EXPECT_EQ(json_of(server().ask("GET", "/v1/models/demo")).get_int("context_length"), 512);
  EXPECT_EQ(error_of(server().ask("GET", "/v1/models/x%2Fy")),
            "404 model: unknown model \"x/y\" (known: demo)");
  EXPECT_EQ(json_of(server().ask("GET", "/props")).get_string("model"), "demo");
  server().post("/v1/completions", R"({"prompt":"a","max_tokens":1})");
  for (const char* target :
       {"/v1/models/x", "/v1/models/y%0A", "/x/1", "/x/2", "/page/none", "/health", "/v1/health"}) {
    server().ask("GET", target);
  }
  const std::string metrics = server().ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("pippin_generated_tokens_total{model=\"demo\"} "), std::string::npos);
  // One series for each route, whatever paths are requested.
  std::vector<std::string> labels;
  constexpr std::string_view kSeries = "pippin_requests_total{endpoint=\"";
  for (size_t at = metrics.find(kSeries); at != std::string::npos;
       at = metrics.find(kSeries, at + 1)) {
    const size_t begin = at + kSeries.size();
    labels.push_back(metrics.substr(begin, metrics.find('"', begin) - begin));
  }
  for (const std::string& label : labels) {
    EXPECT_TRUE(label == "other" || label == "/v1/models/" || is_routed(label)) << label;
  }
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "other"), 1) << metrics;
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "/v1/health"), 0) << metrics;
  EXPECT_NE(metrics.find("pippin_requests_decoding{model=\"demo\"} "), std::string::npos);
  EXPECT_NE(metrics.find("pippin_spec_decode_num_draft_tokens_total{model=\"demo\"} "),
            std::string::npos);
  EXPECT_EQ(error_of(server().ask("GET", "/v1/chat/completions")),
            "405 -: /v1/chat/completions does not take GET");
  EXPECT_EQ(error_of(server().ask("GET", "/x")), "404 -: unknown endpoint /x");
  for (const char* target : {"//v1/models", "/v1/models/", "//v1//models//", "/v1/models/demo/"}) {
    EXPECT_EQ(server().ask("GET", target).status, 200) << target;
  }
  for (const char* target :
       {"//v1/chat/completions", "/v1//messages/", "//v1/messages//count_tokens/", "//api/chat/"}) {
    const std::string body = story_chat(R"("max_tokens":1,"stream":false)");
    EXPECT_EQ(server().post(target, body).status, 200) << target;
  }
  EXPECT_EQ(server().post("//completion/", R"({"prompt":"a","n_predict":1})").status, 200);
  EXPECT_EQ(find_field(server().ask("GET", "/health", "", {{"x-request-id", "mine-1"}}).headers,
                       "x-request-id"),
            "mine-1");
}

TEST_F(Serving, FreesWhatClientsLeave) {
  // One request that decodes, one that waits for the whole answer, and some in the queue.
  std::vector<std::unique_ptr<http::Client>> clients;
  for (int i = 0; i < 24; ++i) {
    clients.push_back(std::make_unique<http::Client>(server().port()));
    clients.back()->send_request(
        "POST", "/v1/chat/completions",
        story_chat(i % 2 == 0 ? R"("stream":true,"ignore_eos":true)" : R"("ignore_eos":true)"));
  }
  EXPECT_TRUE(clients[0]->read_until("data: "));
  clients.clear();
  EXPECT_TRUE(comes_to_rest());
}

TEST_F(Serving, KnowsItsNames) {
  for (const char* host : {"localhost", "127.0.0.1:80", "[::1]:1", "a.localhost", "LOCALHOST:1"}) {
    EXPECT_EQ(server().ask("GET", "/health", "", {{"host", host}}).status, 200) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80"}) {
    EXPECT_EQ(server().ask("GET", "/health", "", {{"host", host}}).status, 403) << host;
  }
  EXPECT_EQ(server().ask("GET", "/v1/models", "", {{"origin", "https://evil.example"}}).status,
            403);
  EXPECT_EQ(server().ask("GET", "/v1/models", "", {{"origin", "http://localhost"}}).status, 200);
}

TEST(ServingModels, LoadsThemOnDemandAndLetsThemGo) {
  const TempDir folder;
  std::filesystem::copy(source_dir() / "pippin/demo/model", folder / "other");
  Options options = demo_options();
  options.models.models.push_back({"other", (folder / "other").string()});
  options.models.keep_alive = std::chrono::seconds(0);
  DemoServer server(options);
  const auto state = [&](const char* name) {
    return json_of(server.ask("GET", "/v1/models/" + std::string(name))).get_string("state");
  };
  EXPECT_EQ(state("other"), "absent");
  EXPECT_EQ(
      server.post("/v1/chat/completions", story_chat(R"("model":"other","max_tokens":2)")).status,
      200);
  for (int tries = 0; tries < 500 && state("other") != "absent"; ++tries) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(state("other"), "absent");
  EXPECT_EQ(
      server.post("/v1/chat/completions", story_chat(R"("model":"other","max_tokens":2)")).status,
      200);
  EXPECT_ERROR(ModelList({.models = {{"a", ""}, {"a", "b"}}}), ErrorCode::InvalidArgument,
               "two models are called a: name them with NAME=PATH");
}

TEST(ServingModels, AModelThatIsNotThereEndsTheServer) {
  Options options = demo_options();
  options.models.models = {{"gone", "/nowhere/gone.mlpackage"}};
  Server server(options);
  EXPECT_THROW(server.run(), Error);
}

// Load balancers query health while running answers are finished.
TEST(ServingEnd, HealthSaysThatTheServerIsEnding) {
  DemoServer server;
  http::Client slow(server.port());
  slow.set_small_buffer();
  std::string tokens = "[100";
  for (int i = 0; i < 1'000'000; ++i) tokens += ",100";
  slow.send_request("POST", "/detokenize", "{\"tokens\":" + tokens + "]}");
  ASSERT_TRUE(slow.read_until("HTTP/1.1 200"));
  server.server().stop();
  Answer health = server.ask("GET", "/health");
  for (int tries = 0; tries < 1000 && health.status == 200; ++tries) {
    health = server.ask("GET", "/health");
  }
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.body, R"({"status":"stopping"})");
  EXPECT_EQ(find_field(health.headers, "retry-after"), "1");
  const Answer refused = server.post("/v1/chat/completions", story_chat());
  EXPECT_EQ(error_of(refused), "503 -: the server is ending");
  EXPECT_EQ(find_field(refused.headers, "retry-after"), "1");
}

TEST(ServingLimits, TheQueueIsFull) {
  Options options = demo_options();
  options.models.scheduler.max_running = 1;
  options.models.scheduler.max_waiting = 1;
  DemoServer server(options);
  std::vector<std::unique_ptr<http::Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<http::Client>(server.port()));
    clients.back()->send_request("POST", "/v1/chat/completions",
                                 story_chat(R"("stream":true,"ignore_eos":true,"max_tokens":400)"));
    std::this_thread::sleep_for(10ms);
  }
  const Answer last = server.post("/v1/chat/completions", story_chat(R"("n":3,"ignore_eos":true)"));
  EXPECT_EQ(last.status, 503);
  EXPECT_EQ(find_field(last.headers, "retry-after"), "1");
}

}  // namespace
}  // namespace pippin::server
