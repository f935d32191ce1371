// Endpoints and forms of llama-server, text-embeddings-inference and vLLM, and the requests of
// editors that use them.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/server/fill_in.h"
#include "pippin/server/line_limits.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;
using http::find_field;

std::vector<Json> events_of(const Answer& answer) {
  std::vector<Json> events;
  for (size_t at = answer.body.find("data: "); at != std::string::npos;
       at = answer.body.find("data: ", at)) {
    const size_t end = answer.body.find("\n\n", at);
    events.push_back(Json::parse(answer.body.substr(at + 6, end - at - 6), "event"));
    at = end;
  }
  return events;
}

class Native : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static Answer complete(const std::string& fields) {
    return shared_->post("/completion",
                         R"({"prompt":"Once upon a time","temperature":0,)" + fields + "}");
  }
  static DemoServer* shared_;
};
DemoServer* Native::shared_ = nullptr;

TEST_F(Native, Completes) {
  const Json whole = json_of(complete(R"("n_predict":12,"return_tokens":true,"n_probs":2)"));
  EXPECT_EQ(whole.get_int("tokens_predicted"), 12);
  EXPECT_EQ(whole.at("tokens").size(), 12U);
  EXPECT_EQ(whole.get_string("stop_type"), "limit");
  EXPECT_TRUE(whole.get_bool("stop"));
  EXPECT_EQ(whole.get_string("model"), "demo");
  EXPECT_EQ(whole.get_string("prompt"), "Once upon a time");
  EXPECT_EQ(whole.at("generation_settings").get_int("n_predict"), 12);
  EXPECT_EQ(whole.at("timings").get_int("predicted_n"), 12);
  const Json probabilities = whole.at("completion_probabilities");
  ASSERT_EQ(probabilities.size(), 12U);
  std::string text;
  for (const Json& one : probabilities.elements()) {
    text += one.get_string("token");
    EXPECT_EQ(one.at("top_logprobs").size(), 2U);
    EXPECT_EQ(one.at("top_logprobs").at(size_t{0}).get_int("id"), one.get_int("id"));
  }
  EXPECT_EQ(text, whole.get_string("content"));
  // OpenAI's endpoint returns the same text.
  const Json openai = json_of(shared_->post(
      "/v1/completions", R"({"prompt":"Once upon a time","temperature":0,"max_tokens":12})"));
  EXPECT_EQ(openai.at("choices").at(size_t{0}).get_string("text"), text);

  const auto events = events_of(complete(R"("n_predict":12,"stream":true)"));
  ASSERT_GT(events.size(), 2U);
  std::string streamed;
  std::vector<int64_t> tokens;
  for (const Json& event : events) {
    streamed += event.get_string("content");
    for (const int64_t id : event.get_ints("tokens")) tokens.push_back(id);
    EXPECT_EQ(event.get_bool("stop"), &event == &events.back());
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(tokens, whole.get_ints("tokens"));
  EXPECT_EQ(events.back().get_string("stop_type"), "limit");
}

TEST_F(Native, TakesPromptsOfAllKinds) {
  const auto ids =
      json_of(shared_->post("/tokenize", R"({"content":"One day"})")).get_ints("tokens");
  JsonWriter list;
  list.value(ids);
  const auto content = [&](const std::string& prompt) {
    const Answer answer =
        shared_->post("/completion", R"({"temperature":0,"n_predict":8,"prompt":)" + prompt + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer);
  };
  const std::string text = content(R"("One day")").get_string("content");
  EXPECT_EQ(content(list.text()).get_string("content"), text);
  EXPECT_EQ(content(fmt::format(R"(["One",{}])", ids.back())).get_string("content"), text);
  const Json several = content(R"(["One day",)" + list.text() + "]");
  ASSERT_EQ(several.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(several.at(i).get_int("index"), static_cast<int64_t>(i));
    EXPECT_EQ(several.at(i).get_string("content"), text);
  }
  EXPECT_EQ(json_of(complete(R"("n_predict":2,"n_cmpl":3)")).size(), 3U);
  for (const char* wrong :
       {"[]", "5", R"([""])", R"({"prompt_string":"x"})", "[1,99999]", "[[{}]]"}) {
    const Answer answer = shared_->post("/completion", std::string(R"({"prompt":)") + wrong + "}");
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(json_of(answer).at("error").get_string("param"), "prompt") << wrong;
  }
}

TEST_F(Native, TellsOnlyWhatIsAskedFor) {
  EXPECT_EQ(complete(R"("n_predict":0,"response_fields":[""])").body, "{}");
  const Json some = json_of(complete(
      R"("n_predict":2,"response_fields":["content","timings/predicted_n","generation_settings/seed"])"));
  EXPECT_EQ(some.keys(), (std::vector<std::string>{"content", "predicted_n", "seed"}));
  EXPECT_EQ(json_of(complete(R"("stop":["there"])")).get_string("stopping_word"), "there");
  EXPECT_EQ(json_of(complete(R"("stop":["there"])")).get_string("stop_type"), "word");
  EXPECT_EQ(json_of(complete(R"("n_predict":-1)")).get_string("stop_type"), "eos");
}

// Without /v1, clients of both forms use this path.
TEST_F(Native, IsMeantAtCompletionsByItsFields) {
  const std::string prompt = R"({"prompt":"One day","temperature":0,)";
  const auto ask = [&](const char* fields) {
    return json_of(shared_->post("/completions", prompt + fields + "}"));
  };
  EXPECT_EQ(ask(R"("n_predict":3)").get_int("tokens_predicted"), 3);
  EXPECT_EQ(ask(R"("max_tokens":3,"return_tokens":true)").at("tokens").size(), 3U);
  EXPECT_EQ(ask(R"("max_tokens":3)").get_string("object"), "text_completion");
  EXPECT_EQ(ask(R"("n_predict":"x")").at("error").at("code").as_int(), 400);
}

TEST_F(Native, ErrorsHaveTheFormOfTheirDialect) {
  const auto ask = [](const char* path, const char* body, int status) {
    const Answer answer = shared_->post(path, body);
    EXPECT_EQ(answer.status, status) << path;
    return json_of(answer).at("error");
  };
  // In llama-server's form, `code` is a number.
  for (const char* stream : {"false", "true"}) {
    const std::string body = std::string(R"({"prompt":5,"stream":)") + stream + "}";
    const Json error = ask("/completion", body.c_str(), 400);
    EXPECT_EQ(error.get_int("code"), 400);
    EXPECT_EQ(error.get_string("type"), "invalid_request_error");
  }
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  const std::string large = R"({"prompt":")" + words + "\"}";
  EXPECT_EQ(ask("/completion", large.c_str(), 400).get_string("type"), "exceed_context_size_error");
  EXPECT_EQ(ask("/models/load", R"({"model":"gone"})", 404).get_string("type"), "not_found_error");
  // In the form of text-embeddings-inference, the error is a text.
  EXPECT_EQ(ask("/embed", R"({"inputs":5})", 422).as_string().substr(0, 5), "input");
  EXPECT_EQ(
      json_of(shared_->post("/rerank", R"({"query":"a","texts":["b"]})")).get_string("error_type"),
      "Validation");
  EXPECT_EQ(ask("/v1/embeddings", R"({"input":5})", 400).get_string("param"), "input");
  EXPECT_TRUE(ask("/v1/completions", R"({"prompt":5})", 400).at("code").is_null());
}

TEST_F(Native, TellsOfSlotsAndModels) {
  const Json slots = json_of(shared_->ask("GET", "/slots"));
  ASSERT_EQ(slots.size(), 16U);
  EXPECT_EQ(slots.at(size_t{3}).get_int("id"), 3);
  EXPECT_EQ(slots.at(size_t{3}).get_int("n_ctx"), 512);
  EXPECT_FALSE(slots.at(size_t{3}).get_bool("is_processing"));
  EXPECT_EQ(shared_->ask("GET", "/slots?fail_on_no_slot=1").status, 200);
  const Json props = json_of(shared_->ask("GET", "/props"));
  EXPECT_EQ(props.get_int("total_slots"), 16);
  EXPECT_EQ(props.get_string("eos_token"), "<|im_end|>");
  const auto status = [&] {
    return json_of(shared_->ask("GET", "/v1/models/demo")).at("status").get_string("value");
  };
  EXPECT_EQ(status(), "loaded");
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"demo"})").body, R"({"success":true})");
  EXPECT_EQ(status(), "unloaded");
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"demo"})").status, 200);
  EXPECT_EQ(shared_->post("/models/load", R"({"model":"demo"})").body, R"({"success":true})");
  EXPECT_EQ(status(), "loaded");
  EXPECT_EQ(shared_->post("/models/load", R"({"model":"gone"})").status, 404);
  EXPECT_EQ(shared_->post("/models/unload", R"({"model":"gone"})").status, 404);
  EXPECT_EQ(error_of(shared_->post("/models/load", "{}")), "400 model: model: is missing");
  const Json chat = json_of(shared_->post(
      "/tokenize", R"({"messages":[{"role":"user","content":"Hi"}],"with_pieces":true})"));
  EXPECT_EQ(chat.at("tokens").at(size_t{0}).get_string("piece"), "<|im_start|>");
  // A piece with a part of a character.
  const Json pieces =
      json_of(shared_->post("/tokenize", R"({"content":"\u6f22","with_pieces":true})"))
          .at("tokens");
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces.at(size_t{0}).at("piece").as_ints(), std::vector<int64_t>{0xE6});
}

TEST_F(Native, EmbedsInItsForms) {
  const Json openai = json_of(shared_->post("/v1/embeddings", R"({"input":["One fox","Two"]})"));
  const auto wanted = openai.at("data").at(size_t{1}).at("embedding").as_floats();
  for (const char* field : {"content", "input", "inputs"}) {
    const std::string body = fmt::format(R"({{"{}":["One fox","Two"]}})", field);
    const Json native = json_of(shared_->post("/embedding", body));
    EXPECT_EQ(native.at(size_t{1}).get_int("index"), 1);
    EXPECT_EQ(native.at(size_t{1}).at("embedding").at(size_t{0}).as_floats(), wanted);
    EXPECT_EQ(json_of(shared_->post("/embed", body)).at(size_t{1}).as_floats(), wanted);
  }
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank", "/reranking", "/v1/reranking"}) {
    EXPECT_EQ(error_of(shared_->post(path, R"({"query":"a","documents":["b"]})")),
              "400 model: the model \"demo\" writes texts and scores none");
  }
  for (const char* path : {"/v1/score", "/score"}) {
    EXPECT_EQ(error_of(shared_->post(path, R"({"text_1":"a","text_2":["b"]})")),
              "400 model: the model \"demo\" writes texts and scores none");
  }
  EXPECT_EQ(error_of(shared_->post("/score", R"({"text_1":["a","b"],"text_2":["c"]})")),
            "400 text_1: text_1: has 2 texts, text_2 1: one with each, or pairs");
}

// The demo model, with three tokens turned into fill-in marks and two into file marks.
class FillingServer {
 public:
  FillingServer() {
    const std::filesystem::path from = source_dir() / "pippin/demo/model";
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
      std::filesystem::copy(entry.path(), folder_.path() / entry.path().filename());
    }
    std::string text = read_file(folder_.path() / "tokenizer.json");
    // They replace the last tokens, which merges would produce.
    size_t end = text.rfind(']');
    for (int i = 0; i < 5; ++i) end = text.rfind(',', end - 1);
    text.erase(end, text.rfind(']') - end);
    std::string marks;
    int id = 2043;
    for (const char* mark :
         {"<repo_name>", "<file_sep>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"}) {
      const size_t colon = text.find(fmt::format(": {}", id));
      const size_t name = text.rfind('"', text.rfind('"', colon) - 1);
      text.replace(name, colon - name, fmt::format("\"{}\"", mark));
      marks += fmt::format(
          R"({{"id":{},"content":"{}","single_word":false,"lstrip":false,"rstrip":false,)"
          R"("normalized":false,"special":true}},)",
          id++, mark);
    }
    const std::string list = "\"added_tokens\": [";
    text.insert(text.find(list) + list.size(), marks);
    write_file(folder_.path() / "tokenizer.json", text);
    Options options = demo_options();
    options.models.models = {{"coder", folder_.path().string()}};
    server_ = std::make_unique<DemoServer>(std::move(options));
  }
  Answer post(const std::string& target, const std::string& body) const {
    return server_->post(target, body);
  }
  std::string prompt_of(const std::string& body) const {
    const Answer answer = post("/infill", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer).get_string("prompt");
  }

 private:
  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

TEST(Infill, PutsTheTextsAroundTheGap) {
  const FillingServer server;
  EXPECT_EQ(server.prompt_of(R"x({"input_prefix":"a(","input_suffix":")","n_predict":2})x"),
            "<fim_prefix>a(<fim_suffix>)<fim_middle>");
  const std::string in_file =
      server.prompt_of(R"({"input_prefix":"a","input_suffix":"b","prompt":"in","n_predict":2,)"
                       R"("input_extra":[{"filename":"x.py","text":"1\n"},{"text":"2\n"}]})");
  EXPECT_EQ(in_file,
            "<repo_name>repository\n<file_sep>x.py\n1\n<file_sep>tmp\n2\n<file_sep>filename\n"
            "<fim_prefix>a<fim_suffix>b<fim_middle>in");
  // Keeps only the end of other files that fits.
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  const std::string fitted = server.prompt_of(
      R"({"input_prefix":"a","input_suffix":"b","n_predict":4,"input_extra":[{"text":")" + words +
      "\"}]}");
  EXPECT_TRUE(fitted.ends_with("<fim_prefix>a<fim_suffix>b<fim_middle>")) << fitted;
  EXPECT_NE(fitted.find("word word"), std::string::npos);
  EXPECT_EQ(error_of(server.post("/infill", R"({"input_suffix":"b"})")),
            "400 input_prefix: input_prefix: is missing");
  const Answer openai =
      server.post("/v1/completions", R"({"prompt":"a","suffix":"b","max_tokens":4})");
  EXPECT_EQ(openai.status, 200) << openai.body;
  EXPECT_EQ(error_of(DemoServer().post("/infill", R"({"input_prefix":"a","input_suffix":"b"})")),
            "400 input_prefix: input_prefix: the model has no tokens to fill in with");
}

// The requests of llama.vim and llama.vscode: one to warm the cache, then one for a completion.
TEST(Infill, AnswersEditors) {
  const FillingServer server;
  const std::string extra =
      R"("input_extra":[{"text":"int one();\n","time":1,"filename":"one.h"}])";
  const Answer warm =
      server.post("/infill", R"({"id_slot":0,"input_prefix":"","input_suffix":"",)" + extra +
                                 R"(,"prompt":"","n_predict":0,"temperature":0.0,"stream":false,)"
                                 R"("samplers":[],"cache_prompt":true,"t_max_prompt_ms":1,)"
                                 R"("t_max_predict_ms":1,"response_fields":[""]})");
  EXPECT_EQ(warm.status, 200) << warm.body;
  EXPECT_EQ(warm.body, "{}");
  const Answer answer = server.post(
      "/infill",
      R"({"id_slot":0,"input_prefix":"int main() {\n","input_suffix":"\n}\n",)" + extra +
          R"(,"prompt":"  ret","n_predict":16,"stop":[],"n_indent":2,"top_k":40,"top_p":0.90,)"
          R"("stream":false,"samplers":["top_k","top_p","infill"],"cache_prompt":true,)"
          R"("t_max_prompt_ms":500,"t_max_predict_ms":1000,"response_fields":["content",)"
          R"("timings/prompt_n","timings/prompt_ms","timings/prompt_per_token_ms",)"
          R"("timings/prompt_per_second","timings/predicted_n","timings/predicted_ms",)"
          R"("timings/predicted_per_second","truncated","tokens_cached"]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = json_of(answer);
  for (const char* name :
       {"content", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second",
        "predicted_n", "predicted_ms", "predicted_per_second", "truncated", "tokens_cached"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_GT(json.get_int("tokens_cached"), 0);  // of the other files
  EXPECT_EQ(find_field(answer.headers, "x-ignored-fields"), "samplers.infill");
  // minuet: a stream of OpenAI's form, with the marks in the prompt, and with a suffix.
  for (const char* fields :
       {R"("prompt":"<fim_prefix>a<fim_suffix>b<fim_middle>")", R"("prompt":"a","suffix":"b")"}) {
    const Answer stream = server.post(
        "/v1/completions", std::string(R"({"model":"coder","stream":true,"max_tokens":8,)") +
                               R"("top_p":0.9,"stop":["\n\n"],)" + fields + "}");
    EXPECT_EQ(stream.status, 200) << stream.body;
    EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
    EXPECT_NE(stream.body.find("\"text\":\""), std::string::npos);
  }
  // Continue's provider for llama-server.
  const auto events = events_of(server.post(
      "/completion", R"({"prompt":"One","stream":true,"n_predict":4,"temperature":0.5,"top_p":1,)"
                     R"("top_k":20,"frequency_penalty":0,"presence_penalty":0,"mirostat":0,)"
                     R"("stop":["</s>"]})"));
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(events.back().get_bool("stop"));
}

TEST(LineLimits, EndBeforeALineThatLeavesTheBlock) {
  const auto limited = [](const std::vector<std::string>& pieces, LineLimitOptions options) {
    LineLimits lines(options);
    std::string text;
    for (const std::string& piece : pieces) {
      text += lines.push(piece);
      if (lines.is_over()) return text + "|";
    }
    return text + lines.finish();
  };
  EXPECT_EQ(limited({"a\n", "  b\n\n   ", "c\n }"}, {.indent = 2}), "a\n  b\n\n   c|");
  EXPECT_EQ(limited({"a\n  b\n", "\n"}, {.indent = 2}), "a\n  b\n\n");
  EXPECT_EQ(limited({"a\n", "b"}, {}), "a\nb");
  EXPECT_EQ(limited({"a\n", "b"}, {.milliseconds = 0}), "a|");
  EXPECT_EQ(limited({"a", "b"}, {.milliseconds = 0}), "ab");
}

}  // namespace
}  // namespace pippin::server
