// ollama's endpoints, and the requests of programs that recognize servers by them.
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/model_output/syntax_testing.h"
#include "pippin/server/keep_alive.h"
#include "pippin/server/model_names.h"
#include "pippin/server/ollama_messages.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;
using http::find_field;

constexpr const char* kHello = R"("messages":[{"role":"user","content":"Tell me a story."}])";

std::vector<Json> lines_of(const Answer& answer) {
  std::vector<Json> lines;
  for (size_t at = 0; at < answer.body.size();) {
    const size_t end = answer.body.find('\n', at);
    lines.push_back(Json::parse(answer.body.substr(at, end - at), "line"));
    at = end + 1;
  }
  return lines;
}

std::string ollama_error(const Answer& answer) {
  return std::to_string(answer.status) + " " + json_of(answer).get_string("error");
}

class Ollama : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static Answer chat(const std::string& more) {
    return shared_->post("/api/chat", "{" + std::string(kHello) + "," + more + "}");
  }
  static Answer generate(const std::string& more) {
    return shared_->post("/api/generate", R"({"model":"demo",)" + more + "}");
  }
  static Json whole(const Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer);
  }
  static DemoServer* shared_;
};
DemoServer* Ollama::shared_ = nullptr;

void expect_durations(const Json& last) {
  EXPECT_GT(last.get_int("total_duration"), 0);
  EXPECT_GE(last.get_int("load_duration"), 0);
  EXPECT_GE(last.get_int("prompt_eval_duration"), 0);
  EXPECT_GT(last.get_int("eval_duration"), 0);
  EXPECT_LT(last.get_int("eval_duration"), last.get_int("total_duration"));
}

TEST_F(Ollama, Chats) {
  const std::string options = R"("model":"demo","options":{"num_predict":12,"temperature":0})";
  const Json answer = whole(chat(options + R"(,"stream":false)"));
  EXPECT_EQ(answer.get_string("model"), "demo");
  EXPECT_TRUE(answer.get_bool("done"));
  EXPECT_EQ(answer.get_string("done_reason"), "length");
  EXPECT_EQ(answer.at("message").get_string("role"), "assistant");
  EXPECT_EQ(answer.get_int("eval_count"), 12);
  expect_durations(answer);
  // OpenAI's endpoint returns the same text.
  const Json openai = json_of(shared_->post(
      "/v1/chat/completions", "{" + std::string(kHello) + R"(,"max_tokens":12,"temperature":0})"));
  const std::string text = openai.at("choices").at(size_t{0}).at("message").get_string("content");
  EXPECT_EQ(answer.at("message").get_string("content"), text);
  EXPECT_EQ(answer.get_int("prompt_eval_count"), openai.at("usage").get_int("prompt_tokens"));

  const Answer stream = chat(options);
  EXPECT_EQ(find_field(stream.headers, "content-type"), "application/x-ndjson");
  const auto lines = lines_of(stream);
  ASSERT_GT(lines.size(), 3U);
  std::string streamed;
  for (const Json& line : lines) {
    EXPECT_EQ(line.get_bool("done"), &line == &lines.back());
    EXPECT_EQ(line.get_string("created_at").size(), 30U);
    streamed += line.at("message").get_string("content");
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(lines.back().get_string("done_reason"), "length");
  expect_durations(lines.back());
}

TEST_F(Ollama, Generates) {
  const std::string fields =
      R"("prompt":"Once upon a time","options":{"num_predict":8,"temperature":0})";
  const Json raw = whole(generate(fields + R"(,"raw":true,"stream":false)"));
  const Json openai = json_of(shared_->post(
      "/v1/completions", R"({"prompt":"Once upon a time","temperature":0,"max_tokens":8})"));
  EXPECT_EQ(raw.get_string("response"), openai.at("choices").at(size_t{0}).get_string("text"));
  EXPECT_FALSE(raw.has("context"));
  // The template's prompt, and a conversation that continues from its tokens.
  const Json first = whole(generate(fields + R"(,"system":"Be kind.","stream":false)"));
  const auto tokens = first.get_ints("context");
  EXPECT_EQ(std::ssize(tokens), first.get_int("prompt_eval_count") + first.get_int("eval_count"));
  const Json second =
      whole(generate(fields + R"(,"stream":false,"context":)" + first.at("context").dump()));
  const auto longer = second.get_ints("context");
  ASSERT_GT(longer.size(), tokens.size());
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), longer.begin()));
  const auto lines = lines_of(generate(fields));
  std::string streamed;
  for (const Json& line : lines) streamed += line.get_string("response");
  EXPECT_EQ(streamed, whole(generate(fields + R"(,"stream":false)")).get_string("response"));
  EXPECT_TRUE(lines.back().has("context"));
  EXPECT_FALSE(lines.front().has("context"));

  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","raw":true,"system":"b")")),
            "400 system: does not go with raw");
  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","raw":true,"context":[1])")),
            "400 context: does not go with raw");
  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","suffix":"b")")),
            "400 suffix: the model has no tokens to fill in with");
  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","template":"{{ .Prompt }}")")),
            "400 template is not supported: --chat-template of the server");
  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","images":["aGk="])")),
            "400 images[0]: the model takes text only, not images");
  EXPECT_EQ(ollama_error(generate(R"("prompt":"a","raw":true,"images":["aGk="])")),
            "400 images: does not go with raw");
}

TEST_F(Ollama, AnswersInTheFormThatIsAskedFor) {
  const std::string schema =
      R"({"type":"object","properties":{"kind":{"enum":["fox","hen"]}},"required":["kind"],)"
      R"("additionalProperties":false})";
  const std::string more = R"("stream":false,"options":{"num_predict":200},"format":)";
  const Json answer = whole(chat(more + schema));
  EXPECT_EQ(Json::parse(answer.at("message").get_string("content"), "answer").keys(),
            std::vector<std::string>{"kind"});
  EXPECT_EQ(answer.get_string("done_reason"), "stop");
  EXPECT_EQ(ollama_error(chat(more + R"("xml")")),
            "400 format: expected \"json\" or a JSON Schema");
}

TEST_F(Ollama, OptionsHaveRulesOfTheirOwn) {
  const Answer answer =
      chat(R"("stream":false,"think":false,"options":{"num_predict":1,"num_ctx":4096,"num_gpu":0,)"
           R"("stop":["x"],"unheard":1,"model":"gone"},"other":2)");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(find_field(answer.headers, "x-ignored-fields"),
            "other, options.unheard, options.model");
  EXPECT_EQ(ollama_error(chat(R"("options":{"temperature":"hot"})")),
            "400 request: options.temperature: expected a number, found \"hot\"");
  EXPECT_EQ(ollama_error(chat(R"("options":{"tfs_z":0.5})")), "400 options.tfs_z is not supported");
  EXPECT_EQ(ollama_error(chat(R"("options":[])")), "400 options: expected an object");
  // The AI SDK's provider sends some fields outside of options.
  EXPECT_EQ(whole(chat(R"("stream":false,"max_output_tokens":3)")).get_int("eval_count"), 3);
  const Answer both = chat(R"("stream":false,"max_output_tokens":3,"options":{"num_predict":2})");
  EXPECT_EQ(whole(both).get_int("eval_count"), 2);
  EXPECT_EQ(find_field(both.headers, "x-ignored-fields"), "max_output_tokens");
  const std::string hot = R"("stream":false,"options":{"temperature":1.5,"num_predict":20,"seed":)";
  const auto content = [](const Json& one) { return one.at("message").get_string("content"); };
  EXPECT_EQ(content(whole(chat(hot + "1}"))), content(whole(chat(hot + "1}"))));
  EXPECT_NE(content(whole(chat(hot + "1}"))), content(whole(chat(hot + "2}"))));
}

TEST_F(Ollama, TellsLogprobs) {
  const std::string more =
      R"("options":{"num_predict":5,"temperature":0},"logprobs":true,"top_logprobs":2)";
  const Json logprobs = whole(chat(more + R"(,"stream":false)")).at("logprobs");
  ASSERT_EQ(logprobs.size(), 5U);
  EXPECT_EQ(logprobs.at(size_t{0}).at("top_logprobs").size(), 2U);
  EXPECT_EQ(logprobs.at(size_t{0}).at("top_logprobs").at(size_t{0}).get_string("token"),
            logprobs.at(size_t{0}).get_string("token"));
  size_t count = 0;
  for (const Json& line : lines_of(chat(more))) {
    if (line.has("logprobs")) count += line.at("logprobs").size();
  }
  EXPECT_EQ(count, 5U);
  EXPECT_EQ(ollama_error(chat(R"("top_logprobs":2)")), "400 top_logprobs: needs logprobs");
}

TEST_F(Ollama, ErrorsAreTexts) {
  EXPECT_EQ(
      ollama_error(shared_->post("/api/chat", R"({"model":"gone",)" + std::string(kHello) + "}")),
      "404 model not found: unknown model \"gone\" (known: demo)");
  EXPECT_EQ(shared_->ask("GET", "/api/chat").status, 405);
  EXPECT_TRUE(ollama_error(shared_->ask("GET", "/api/chat")).starts_with("405 "));
  EXPECT_TRUE(ollama_error(shared_->ask("GET", "/api/nothing")).starts_with("404 "));
  EXPECT_TRUE(ollama_error(shared_->post("/api/chat", "{")).starts_with("400 request: not valid"));
  for (const char* path : {"/api/create", "/api/push"}) {
    EXPECT_TRUE(ollama_error(shared_->post(path, R"({"model":"a"})"))
                    .starts_with("501 " + std::string(path) + " is not supported"))
        << path;
  }
  EXPECT_EQ(ollama_error(chat(R"("think":true)")), "400 \"demo\" does not support thinking");
  EXPECT_EQ(ollama_error(shared_->post(
                "/api/chat",
                R"({"messages":[{"role":"user","content":"What is it?","images":["aGk="]}]})")),
            "400 messages[0].images[0]: the model takes text only, not images");
  // Clients of this server may not change its models.
  EXPECT_TRUE(
      ollama_error(shared_->post("/api/pull", R"({"model":"org/name"})")).starts_with("403 "));
}

TEST_F(Ollama, ListsModels) {
  EXPECT_NE(json_of(shared_->ask("GET", "/api/version")).get_string("version"), "");
  const Json tags = json_of(shared_->ask("GET", "/api/tags")).at("models");
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags.at(size_t{0}).get_string("name"), "demo:latest");
  EXPECT_EQ(tags.at(size_t{0}).get_string("digest").size(), 64U);
  const Json loaded = json_of(shared_->ask("GET", "/api/ps")).at("models");
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_EQ(loaded.at(size_t{0}).get_string("expires_at").substr(0, 4), "9999");
  EXPECT_EQ(shared_->ask("HEAD", "/api/tags").status, 200);
  for (const char* name : {"demo", "demo:latest", "hf.co/demo"}) {
    const Json shown =
        json_of(shared_->post("/api/show", R"({"model":")" + std::string(name) + "\"}"));
    const Json info = shown.at("model_info");
    const std::string family = info.get_string("general.architecture");
    EXPECT_EQ(info.get_int(family + ".context_length"), 512) << name;
    EXPECT_EQ(shown.get_strings("capabilities"), std::vector<std::string>{"completion"});
    EXPECT_NE(shown.get_string("template").find("im_start"), std::string::npos);
  }
  EXPECT_EQ(shared_->post("/api/show", R"({"name":"gone"})").status, 404);
  // OpenAI's endpoint accepts the names of the list, too.
  EXPECT_EQ(
      shared_->post("/v1/completions", R"({"model":"demo:latest","prompt":"a","max_tokens":1})")
          .status,
      200);
}

// Clients detect a server this way; browsers get the page.
TEST_F(Ollama, SaysThatItRuns) {
  for (const char* accept : {"", "*/*", "application/json"}) {
    EXPECT_EQ(shared_->ask("GET", "/", "", {{"accept", accept}}).body, "Ollama is running");
    EXPECT_EQ(shared_->ask("HEAD", "/", "", {{"accept", accept}}).status, 200);
  }
}

TEST_F(Ollama, Embeds) {
  const auto embed = [](const std::string& body) {
    return shared_->post("/api/embed", R"({"model":"demo",)" + body + "}");
  };
  const Json two = whole(embed(R"("input":["A fox.","A hen."],"options":{"num_ctx":512})"));
  ASSERT_EQ(two.at("embeddings").size(), 2U);
  EXPECT_GT(two.get_int("prompt_eval_count"), 0);
  EXPECT_GT(two.get_int("total_duration"), 0);
  const Json older =
      whole(shared_->post("/api/embeddings", R"({"model":"demo","prompt":"A fox."})"));
  EXPECT_EQ(older.at("embedding").dump(), two.at("embeddings").at(size_t{0}).dump());
  EXPECT_EQ(whole(embed(R"("input":[])")).at("embeddings").size(), 0U);
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  EXPECT_EQ(whole(embed(R"("input":")" + words + "\"")).get_int("prompt_eval_count"), 512);
  EXPECT_EQ(embed(R"("truncate":false,"input":")" + words + "\"").status, 400);
  EXPECT_EQ(ollama_error(embed(R"("input":5)")).substr(0, 10), "400 input:");
}

TEST(OllamaModels, ComeAndGoAsKeepAliveSays) {
  DemoServer server;
  const auto loaded = [&] { return json_of(server.ask("GET", "/api/ps")).at("models"); };
  const auto ask = [&](const char* path, const std::string& more) {
    const Answer answer = server.post(path, R"({"model":"demo")" + more + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer);
  };
  EXPECT_EQ(loaded().size(), 1U);
  Json empty = ask("/api/chat", R"(,"messages":[],"keep_alive":0)");
  EXPECT_EQ(empty.get_string("done_reason"), "unload");
  EXPECT_EQ(empty.at("message").get_string("content"), "");
  EXPECT_EQ(loaded().size(), 0U);
  empty = ask("/api/generate", R"(,"keep_alive":"1h")");
  EXPECT_EQ(empty.get_string("done_reason"), "load");
  EXPECT_EQ(empty.get_string("response"), "");
  ASSERT_EQ(loaded().size(), 1U);
  EXPECT_NE(loaded().at(size_t{0}).get_string("expires_at").substr(0, 4), "9999");
  ask("/api/generate", R"(,"keep_alive":-1)");
  EXPECT_EQ(loaded().at(size_t{0}).get_string("expires_at").substr(0, 4), "9999");
  // Unloads after an answer.
  ask("/api/generate",
      R"(,"prompt":"a","stream":false,"options":{"num_predict":2},"keep_alive":0)");
  for (int tries = 0; tries < 1000 && loaded().size() > 0; ++tries)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(loaded().size(), 0U);
  // The keep-alive lasts until then.
  ask("/api/generate", "");
  EXPECT_EQ(loaded().at(size_t{0}).get_string("expires_at").substr(0, 4), "9999");
}

TEST(OllamaModels, HaveFurtherNames) {
  const TempDir folder;
  const std::filesystem::path demo = source_dir() / "pippin/demo/model";
  std::filesystem::copy(demo, folder / "copied");
  Options options = demo_options();
  const std::string path = (folder / "copied").string();
  options.models.models = {{"one", path}, {"two", path}};
  options.allows_pulls = true;
  const DemoServer server(options);
  const auto names = [&] {
    std::vector<std::string> result;
    for (const Json& one : json_of(server.ask("GET", "/api/tags")).at("models").elements()) {
      result.push_back(one.get_string("name"));
      EXPECT_EQ(one.at("details").get_string("format"), "safetensors");
      EXPECT_GT(one.get_int("size"), 100'000);
      EXPECT_NE(one.at("details").get_string("parameter_size"), "");
    }
    return result;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"one:latest", "two:latest"}));
  EXPECT_EQ(server.post("/api/copy", R"({"source":"two","destination":"three:small"})").status,
            200);
  EXPECT_EQ(names(), (std::vector<std::string>{"one:latest", "two:latest", "three:small"}));
  for (const char* name : {"one", "two", "three:small"}) {
    const Answer answer = server.post(
        "/v1/completions", R"({"prompt":"a","max_tokens":1,"model":")" + std::string(name) + "\"}");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  // One model, loaded once.
  EXPECT_EQ(json_of(server.ask("GET", "/api/ps")).at("models").size(), 1U);
  EXPECT_EQ(json_of(server.ask("GET", "/v1/models")).at("data").size(), 3U);
  const auto error = [](const Answer& answer) { return ollama_error(answer); };
  EXPECT_EQ(server.post("/api/copy", R"({"source":"gone","destination":"a"})").status, 404);
  EXPECT_EQ(error(server.post("/api/copy", R"({"source":"one","destination":"a b"})")),
            "400 \"a b\" cannot be the name of a model");
  EXPECT_EQ(server.ask("DELETE", "/api/delete", R"({"model":"three:small"})").status, 200);
  EXPECT_EQ(names(), (std::vector<std::string>{"one:latest", "two:latest"}));
  for (const char* name : {"one", "two", "two:latest"}) {
    EXPECT_EQ(
        error(server.ask("DELETE", "/api/delete", R"({"model":")" + std::string(name) + "\"}"))
            .substr(0, 3),
        "403")
        << name;
  }
  EXPECT_EQ(server.ask("DELETE", "/api/delete", R"({"model":"gone"})").status, 404);
  EXPECT_EQ(error(server.post("/api/pull", R"({"model":"llama3.2"})")).substr(0, 42),
            "400 model: \"llama3.2\" is not a repository ");
  EXPECT_EQ(
      json_of(server.post("/api/pull", R"({"model":"one","stream":false})")).get_string("status"),
      "success");
}

TEST(OllamaModels, ThatAreBrokenAreListedWithTheOthers) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "broken");
  write_file(folder / "broken/config.json", "{");
  Options options = demo_options();
  options.models.models.push_back({"broken", (folder / "broken").string()});
  const DemoServer server(options);
  const Json tags = json_of(server.ask("GET", "/api/tags")).at("models");
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags.at(size_t{1}).get_string("name"), "broken:latest");
  EXPECT_EQ(tags.at(size_t{1}).get_int("size"), 1);
  EXPECT_EQ(server.post("/api/chat", R"({"model":"broken"})").status, 500);
}

// If the template supports tools, calls arrive whole.
TEST(OllamaModels, CallTools) {
  const TempDir folder;
  write_file(folder / "template.jinja", model_output::template_source(model_output::kHermes));
  Options options = demo_options();
  options.models.choice.load.chat_template = (folder / "template.jinja").string();
  const DemoServer server(options);
  EXPECT_EQ(json_of(server.post("/api/show", R"({"model":"demo"})")).get_strings("capabilities"),
            (std::vector<std::string>{"completion", "tools"}));
  const std::string body =
      R"({"model":"demo",)" + std::string(kHello) +
      R"(,"tools":[{"type":"function","function":{"name":"clock","description":"Tells",)"
      R"("parameters":{"type":"object","properties":{"zone":{"type":"string","pattern":"^[a-z]{2}$"}},)"
      R"("required":["zone"],"additionalProperties":false}}}],"tool_choice":"required",)"
      R"("options":{"num_predict":80})";
  const Json whole = json_of(server.post("/api/chat", body + R"(,"stream":false})"));
  const Json calls = whole.at("message").at("tool_calls");
  ASSERT_EQ(calls.size(), 1U);
  const Json function = calls.at(size_t{0}).at("function");
  EXPECT_EQ(function.get_string("name"), "clock");
  EXPECT_EQ(function.at("arguments").get_string("zone").size(), 2U);
  EXPECT_EQ(whole.get_string("done_reason"), "stop");
  size_t streamed = 0;
  for (const Json& line : lines_of(server.post("/api/chat", body + "}"))) {
    if (line.at("message").has("tool_calls"))
      streamed += line.at("message").at("tool_calls").size();
  }
  EXPECT_EQ(streamed, 1U);
}

TEST(OllamaModels, WithoutToolsSaySo) {
  const DemoServer server;
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"clock"}}])";
  EXPECT_EQ(ollama_error(server.post("/api/chat", "{" + std::string(kHello) + "," + tools + "}"))
                .substr(0, 31),
            "400 \"demo\" does not support too");
}

TEST(OllamaFields, TellHowLongAModelStays) {
  const auto read = [](const std::string& value) {
    return read_keep_alive(Json::parse(R"({"keep_alive":)" + value + "}", "request"));
  };
  EXPECT_EQ(read("0"), 0ms);
  EXPECT_EQ(read("-1"), -1ms);
  EXPECT_EQ(read("1.5"), 1500ms);
  EXPECT_EQ(read(R"("5m")"), 300s);
  EXPECT_EQ(read(R"("1h30m")"), 90min);
  EXPECT_EQ(read(R"("1.5h")"), 90min);
  EXPECT_EQ(read(R"("250ms")"), 250ms);
  EXPECT_EQ(read(R"("-5m")"), -1ms);
  EXPECT_EQ(read(R"("30")"), 30s);
  EXPECT_EQ(read("1e300"), -1ms);
  EXPECT_EQ(read("null"), std::nullopt);
  for (const char* wrong :
       {R"("")", R"("m")", R"("5x")", R"("5m3")", "true", "[]", R"("-")", R"("nan")"}) {
    EXPECT_THROW(read(wrong), ApiError) << wrong;
  }
}

TEST(OllamaFields, NamesAreForgiven) {
  EXPECT_EQ(plain_name("demo:latest"), "demo");
  EXPECT_EQ(plain_name("hf.co/org/name:Q4_K_M"), "org/name:Q4_K_M");
  EXPECT_EQ(tagged_name("org/name"), "org/name:latest");
  EXPECT_EQ(tagged_name("org/name:Q8_0"), "org/name:Q8_0");
}

TEST(OllamaFields, ResultsOfToolsFindTheirCalls) {
  const ChatInput input = ollama_messages(Json::parse(
      R"({"messages":[{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[)"
      R"({"function":{"index":0,"name":"a","arguments":{"x":1}}},)"
      R"({"function":{"name":"b","arguments":{}}}]},)"
      R"({"role":"tool","tool_name":"b","content":"2"},{"role":"tool","content":"1"}]})",
      "request"));
  const auto& items = input.messages.list().items;
  ASSERT_EQ(items.size(), 3U);
  const auto id_of = [&](size_t call) {
    return items[0].dict().find("tool_calls")->list().items[call].dict().find("id")->string();
  };
  EXPECT_EQ(id_of(0).size(), 9U);
  EXPECT_NE(id_of(0), id_of(1));
  EXPECT_EQ(items[0].dict().find("reasoning_content")->string(), "Hm.");
  EXPECT_EQ(items[1].dict().find("tool_call_id")->string(), id_of(1));
  EXPECT_EQ(items[2].dict().find("tool_call_id")->string(), id_of(0));
}

}  // namespace
}  // namespace pippin::server
