// The table of fields, the document made from it, and each field's effect.
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/model_output/syntax_testing.h"
#include "pippin/server/field_rules.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;
using http::find_field;

struct Target {
  FieldsOf endpoint;
  const char* path;
  std::string body;  // the required fields, without the closing brace
};
std::vector<Target> targets() {
  const std::string messages = kStory;
  return {{kChat, "/v1/chat/completions", "{" + messages},
          {kCompletions, "/v1/completions", R"({"prompt":"One day")"},
          {kMessages, "/v1/messages", "{" + messages},
          {kEmbeddings, "/v1/embeddings", R"({"input":"One day")"},
          {kResponses, "/v1/responses", R"({"input":"One day")"}};
}

class Fields : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static Answer ask(const Target& target, std::string_view name, std::string_view value) {
    const FieldRule* const rule = find_rule(name, target.endpoint);
    const std::string_view meant = rule == nullptr || rule->meaning.empty() ? name : rule->meaning;
    // The target's required field is replaced.
    const bool is_needed = target.body.starts_with(fmt::format("{{\"{}\":", meant));
    std::string body = is_needed ? "{" : target.body + ",";
    // Keeps answers short, unless the field is about their length.
    const bool is_limit = meant == "max_tokens" || target.endpoint == kEmbeddings;
    if (!is_limit) body += R"("max_tokens":1,)";
    return shared_->post(target.path, fmt::format("{}\"{}\":{}}}", body, name, value));
  }
  static Answer chat(const std::string& more) {
    return shared_->post("/v1/chat/completions", "{" + std::string(kStory) + "," + more + "}");
  }
  static Json choice(const Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer).at("choices").at(size_t{0});
  }
  static std::string content(const std::string& more) {
    return choice(chat(more)).at("message").get_string("content");
  }
  static std::vector<int64_t> tokens(const std::string& text) {
    JsonWriter json;
    json.begin_object().member("content", text).end_object();
    return json_of(shared_->post("/tokenize", json.text())).get_ints("tokens");
  }
  static int64_t generated(const Answer& answer) {
    return json_of(answer).at("usage").get_int("completion_tokens");
  }
  static DemoServer* shared_;
};
DemoServer* Fields::shared_ = nullptr;

TEST(FieldRules, TheDocumentIsTheTable) {
  const std::string page = source_dir() / "docs/fields.md";
  if (std::getenv("PIPPIN_UPDATE_DOCS") != nullptr) return write_file(page, fields_document());
  EXPECT_EQ(read_file(page), fields_document())
      << "to write it anew: PIPPIN_UPDATE_DOCS=1 build/release/pippin/server/server_test "
         "--gtest_filter=FieldRules.*";
}

TEST(FieldRules, NameEachFieldOnce) {
  std::set<std::pair<std::string_view, uint32_t>> seen;
  for (const FieldRule& rule : field_rules()) {
    EXPECT_NE(rule.endpoints, 0U) << rule.name;
    for (uint32_t endpoint = 1; endpoint <= kOllamaEmbed; endpoint *= 2) {
      if ((rule.endpoints & endpoint) == 0) continue;
      EXPECT_TRUE(seen.emplace(rule.name, endpoint).second) << rule.name;
      if (rule.use != Use::Honoured || rule.meaning.empty()) continue;
      // The meaning of a spelling is a field that is honoured there too, or has other spellings
      // only.
      const FieldRule* meant = find_rule(rule.meaning, endpoint);
      EXPECT_TRUE(meant == nullptr || meant->use == Use::Honoured) << rule.name;
    }
  }
}

// No field is dropped silently.
TEST_F(Fields, AreTreatedAsTheTableSays) {
  for (const Target& target : targets()) {
    for (const FieldRule& rule : field_rules()) {
      if ((rule.endpoints & target.endpoint) == 0) continue;
      SCOPED_TRACE(fmt::format("{} at {}", rule.name, target.path));
      const std::string param(rule.name);
      if (rule.use == Use::Ignored) {
        const Answer answer = ask(target, rule.name, R"({"any":1})");
        EXPECT_EQ(answer.status, 200) << answer.body;
        EXPECT_EQ(find_field(answer.headers, "x-ignored-fields"), "");
      } else if (rule.use == Use::Only) {
        const Answer refused = ask(target, rule.name, R"({"any":1})");
        EXPECT_EQ(refused.status, 400);
        const std::string said = json_of(refused).at("error").get_string("message");
        EXPECT_TRUE(said.starts_with(param + " is not supported")) << said;
        for (const Json& value : Json::parse(rule.meaning, "values").elements()) {
          EXPECT_EQ(ask(target, rule.name, value.dump()).status, 200) << value.dump();
        }
        EXPECT_EQ(ask(target, rule.name, "null").status, 200);
      } else if (rule.name != "documents") {  // the template accepts any value
        // At least one of these has a wrong type, and the error names the field.
        std::string said;
        for (const char* wrong : {R"({"any":1})", "5", R"("any")", "[[{}]]"}) {
          const Answer answer = ask(target, rule.name, wrong);
          if (answer.status == 200) continue;
          const std::string one = json_of(answer).at("error").get_string("message");
          if (one.find(rule.name) != std::string::npos) said = one;
        }
        EXPECT_NE(said, "");
      }
    }
  }
}

TEST_F(Fields, WithoutARuleAreIgnoredAloud) {
  for (const Target& target : targets()) {
    const Answer answer = ask(target, "unheard_of", "[1]");
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(find_field(answer.headers, "x-ignored-fields"), "unheard_of") << target.path;
  }
  // This model writes no thoughts.
  for (const char* more :
       {R"("reasoning_budget":5)", R"("reasoning":{"max_tokens":5})", R"("think":true)"}) {
    const Answer answer = chat(std::string(R"("max_tokens":1,)") + more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_NE(find_field(answer.headers, "x-ignored-fields"), "") << more;
  }
  const Answer stream = chat(R"("max_tokens":2,"stream":true,"a b,c":1,"other":2)");
  EXPECT_EQ(find_field(stream.headers, "x-ignored-fields"), "abc, other");
}

TEST_F(Fields, SayWhereATextEnds) {
  const std::string plain = content(R"("temperature":0,"max_tokens":40)");
  for (const char* name : {"n_predict", "num_predict", "max_new_tokens", "max_completion_tokens"}) {
    EXPECT_EQ(generated(chat(fmt::format(R"("{}":3)", name))), 3) << name;
  }
  const Answer two = chat(R"("n_predict":5,"max_tokens":2,"num_predict":2)");
  EXPECT_EQ(generated(two), 2);
  EXPECT_EQ(find_field(two.headers, "x-ignored-fields"), "n_predict");
  const std::string stop = plain.substr(plain.find(' ') + 1, 4);
  const std::string stopped = content(R"("temperature":0,"stop":")" + stop + "\"");
  EXPECT_EQ(stopped, plain.substr(0, plain.find(stop)));
  for (const char* name : {"include_stop_str_in_output", "no_stop_trim"}) {
    EXPECT_EQ(content(fmt::format(R"("temperature":0,"stop":"{}","{}":true)", stop, name)),
              stopped + stop);
  }
  const auto ids = tokens(plain);
  const Answer by_token =
      chat(fmt::format(R"("temperature":0,"max_tokens":40,"stop_token_ids":[{}])", ids[5]));
  EXPECT_LE(generated(by_token), 5);
  EXPECT_EQ(choice(by_token).get_string("finish_reason"), "stop");
  EXPECT_EQ(error_of(chat(R"("stop_token_ids":[1,99999])")),
            "400 stop_token_ids: stop_token_ids: token 99999 is not in the vocabulary of 2048");
  // A whole story ends by itself, but not before the minimum of tokens.
  const int64_t whole = generated(chat(R"("temperature":0)"));
  EXPECT_GE(generated(chat(fmt::format(R"("temperature":0,"min_tokens":{})", whole + 20))),
            whole + 20);
  EXPECT_EQ(error_of(chat(R"("min_tokens":5,"json_schema":{})")),
            "400 min_tokens: min_tokens: the answer's form is given by json_schema");
}

TEST_F(Fields, SayWhichTokensCome) {
  const std::string plain = content(R"("temperature":0,"max_tokens":60)");
  ASSERT_NE(plain.find("fox"), std::string::npos);
  for (const char* more : {"", R"("temperature":1.5,"seed":4,)"}) {
    const std::string text =
        content(more + std::string(R"("max_tokens":60,"bad_words":["fox","e"])"));
    EXPECT_EQ(text.find("fox"), std::string::npos) << text;
    EXPECT_EQ(text.find('e'), std::string::npos) << text;
    EXPECT_GT(text.size(), 10U);
  }
  const auto allowed = tokens("fox fox");
  JsonWriter list;
  list.value(allowed);
  const std::string text = content(R"("max_tokens":10,"allowed_token_ids":)" + list.text());
  EXPECT_EQ(text.find_first_not_of("fox "), std::string::npos) << text;
  EXPECT_EQ(error_of(chat(R"("allowed_token_ids":[])")),
            "400 allowed_token_ids: allowed_token_ids: no token in the list");
  EXPECT_EQ(error_of(chat(R"("mirostat":1)")), "400 mirostat: mirostat: there is version 2, not 1");
  const std::string hot = R"("temperature":1.5,"seed":7,"max_tokens":30,)";
  const std::string free = content(hot + R"("top_k":0)");
  EXPECT_EQ(content(hot + R"("mirostat":0,"mirostat_tau":1)"), free);
  EXPECT_EQ(content(hot + R"("mirostat":2,"mirostat_tau":0.1)"),
            content(hot + R"("mirostat_tau":0.1)"));
  EXPECT_NE(content(hot + R"("mirostat":2,"mirostat_tau":0.1)"), free);
  // Samplers that are not in the list are off.
  EXPECT_EQ(content(hot + R"("top_k":1,"samplers":["temperature","top_p"])"), free);
  EXPECT_EQ(content(hot + R"("top_k":1,"samplers":"tp")"), free);
  EXPECT_NE(content(hot + R"("top_k":1,"samplers":["top_k","temperature"])"), free);
  EXPECT_EQ(error_of(chat(R"("samplers":["top_q"])")),
            "400 samplers: samplers: unknown sampler \"top_q\"");
  EXPECT_EQ(find_field(chat(R"("max_tokens":1,"samplers":["top_k","infill"])").headers,
                       "x-ignored-fields"),
            "samplers.infill");
  EXPECT_EQ(content(hot + R"("do_sample":false)"), content(R"("temperature":0,"max_tokens":30)"));
  const std::string repeating = R"("temperature":0,"max_tokens":30,"repetition_penalty":3,)";
  EXPECT_EQ(content(repeating + R"("repeat_last_n":0)"),
            content(R"("temperature":0,"max_tokens":30)"));
}

TEST_F(Fields, SayHowMuchOfAPromptCounts) {
  const auto prompt_tokens = [](const Answer& answer) {
    return json_of(answer).at("usage").get_int("prompt_tokens");
  };
  EXPECT_EQ(prompt_tokens(chat(R"("max_tokens":1,"truncate_prompt_tokens":5)")), 5);
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  const Answer fitted = shared_->post(
      "/v1/completions",
      R"({"max_tokens":4,"echo":true,"truncate_prompt_tokens":-1,"prompt":")" + words + "\"}");
  EXPECT_EQ(prompt_tokens(fitted), 508) << fitted.body;
  EXPECT_LT(choice(fitted).get_string("text").size(), words.size());
  EXPECT_EQ(
      prompt_tokens(shared_->post("/v1/completions", R"({"max_tokens":1,"prompt":"One day"})")),
      std::ssize(tokens("One day")));
}

// As in lm-evaluation-harness's local-completions: the logprobs of a continuation after its
// context.
TEST_F(Fields, TellLogprobsOfPrompts) {
  const auto context = tokens("Once upon a time"), rest = tokens(" there was a fox");
  JsonWriter list;
  list.begin_array();
  for (int times = 0; times < 2; ++times) {
    list.begin_array();
    for (const int64_t id : context) list.value(id);
    for (const int64_t id : rest) list.value(id);
    list.end_array();
  }
  list.end_array();
  const Answer answer = shared_->post(
      "/v1/completions", R"({"model":"demo","max_tokens":1,"logprobs":1,"seed":1234,"echo":true,)"
                         R"("temperature":0,"prompt":)" +
                             list.text() + "}");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json choices = json_of(answer).at("choices");
  ASSERT_EQ(choices.size(), 2U);
  for (const Json& one : choices.elements()) {
    const Json logprobs = one.at("logprobs");
    const size_t count = context.size() + rest.size() + 1;
    std::string text;
    for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
      ASSERT_EQ(logprobs.at(name).size(), count) << name;
    }
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(logprobs.at("text_offset").at(i).as_int(), std::ssize(text));
      text += logprobs.at("tokens").at(i).as_string();
      const Json chosen = logprobs.at("token_logprobs").at(i);
      EXPECT_EQ(chosen.is_null(), i == 0);
      const Json top = logprobs.at("top_logprobs").at(i);
      EXPECT_EQ(top.is_null(), i == 0);
      if (i == 0) continue;
      ASSERT_EQ(top.size(), 1U);
      EXPECT_GE(top.members().front().second.as_float(), chosen.as_float());
    }
    EXPECT_EQ(one.get_string("text"), text);
  }
  // A token of a prompt has the same logprobs as when it is generated.
  const Json generated = choice(shared_->post(
      "/v1/completions",
      R"({"prompt":"Once upon a time","max_tokens":1,"logprobs":0,"temperature":0})"));
  JsonWriter json;
  json.begin_object()
      .member("prompt", "Once upon a time" + generated.get_string("text"))
      .member("echo", true)
      .member("logprobs", 0)
      .member("max_tokens", 0)
      .end_object();
  const Json echoed = choice(shared_->post("/v1/completions", json.text()));
  EXPECT_EQ(echoed.get_string("finish_reason"), "length");
  const Json told = echoed.at("logprobs").at("token_logprobs");
  EXPECT_NEAR(told.at(told.size() - 1).as_float(),
              generated.at("logprobs").at("token_logprobs").at(size_t{0}).as_float(), 1e-3);

  const Json chat_answer = json_of(chat(R"("max_tokens":1,"prompt_logprobs":2,"n":2)"));
  const Json told_of_chat = chat_answer.at("prompt_logprobs");
  ASSERT_EQ(std::ssize(told_of_chat.elements()), chat_answer.at("usage").get_int("prompt_tokens"));
  EXPECT_TRUE(told_of_chat.at(size_t{0}).is_null());
  for (size_t i = 1; i < told_of_chat.size(); ++i) {
    const Json one = told_of_chat.at(i);
    EXPECT_GE(one.size(), 2U);
    EXPECT_LE(one.size(), 3U);
    std::set<int64_t> ranks;
    for (const auto& [id, token] : one.members()) ranks.insert(token.get_int("rank"));
    EXPECT_EQ(*ranks.begin(), 1);
  }
  EXPECT_EQ(choice(shared_->post("/v1/completions",
                                 R"({"prompt":"One day","max_tokens":1,"prompt_logprobs":0})"))
                .at("prompt_logprobs")
                .size(),
            tokens("One day").size());
  EXPECT_EQ(
      error_of(chat(R"("prompt_logprobs":1,"stream":true)")),
      "400 prompt_logprobs: prompt_logprobs: the prompt's logprobs come whole, not in a stream");
}

TEST_F(Fields, OfResultsThatFailedAreToldWhereTheTemplateHasNoWord) {
  const auto ignored = [](const char* is_error) {
    const Answer answer = shared_->post(
        "/v1/messages",
        fmt::format(R"({{"max_tokens":1,"messages":[{{"role":"user","content":[)"
                    R"({{"type":"tool_result","tool_use_id":"a","content":"no","is_error":{}}},)"
                    R"({{"type":"text","text":"Go on."}}]}}]}})",
                    is_error));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(find_field(answer.headers, "x-ignored-fields"));
  };
  EXPECT_EQ(ignored("true"), "tool_result.is_error");
  EXPECT_EQ(ignored("false"), "");
}

// The demo model with a template that opens thoughts.
class ThinkingServer {
 public:
  explicit ThinkingServer(const std::string& more = "") {
    write_file(
        folder_ / "template.jinja",
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}"
        "{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}" +
            more);
    Options options = demo_options();
    options.models.choice.load.chat_template = (folder_ / "template.jinja").string();
    server_ = std::make_unique<DemoServer>(std::move(options));
  }
  Answer chat(const std::string& more) const {
    return server_->post(
        "/v1/chat/completions",
        "{" + std::string(kStory) + R"(,"temperature":0,"max_tokens":60,)" + more + "}");
  }
  Answer post(std::string_view target, std::string_view body) const {
    return server_->post(target, body);
  }

 private:
  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

TEST(Thoughts, EndWhereTheirBudgetDoes) {
  const ThinkingServer server;
  const auto message = [&](const std::string& more) {
    const Answer answer = server.chat(more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer).at("choices").at(size_t{0}).at("message");
  };
  const Json free = message(R"("seed":1)");
  ASSERT_EQ(free.get_string("content"), "");  // this model never ends its thoughts
  ASSERT_NE(free.get_string("reasoning_content"), "");
  for (const std::string budget :
       {R"("thinking_token_budget":8)", R"("reasoning_budget":8)", R"("budget_tokens":8)",
        R"("thinking_budget":8)", R"("thinking":{"type":"enabled","budget_tokens":8})",
        R"("reasoning":{"max_tokens":8})"}) {
    const Json limited = message(budget);
    const std::string thoughts = limited.get_string("reasoning_content");
    EXPECT_NE(thoughts, "") << budget;
    EXPECT_TRUE(free.get_string("reasoning_content").starts_with(thoughts)) << budget;
    EXPECT_NE(limited.get_string("content"), "") << budget;
    EXPECT_EQ(limited.get_string("reasoning"), thoughts);
  }
  const Json none = message(R"("thinking_token_budget":0)");
  EXPECT_FALSE(none.has("reasoning_content"));
  EXPECT_NE(none.get_string("content"), "");
  EXPECT_EQ(message(R"("thinking_token_budget":-1)").get_string("content"), "");
  // Also with a form, and at Anthropic's endpoint.
  EXPECT_EQ(message(R"("thinking_token_budget":5,"guided_choice":["yes"])").get_string("content"),
            "yes");
  const Json blocks =
      json_of(
          server.post("/v1/messages",
                      "{" + std::string(kStory) +
                          R"(,"max_tokens":40,"thinking":{"type":"enabled","budget_tokens":8}})"))
          .at("content");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks.at(size_t{1}).get_string("type"), "text");
}

TEST(Thoughts, AreToldAsAskedFor) {
  const ThinkingServer server;
  const auto message = [&](const std::string& more) {
    return json_of(server.chat(R"("thinking_token_budget":8,)" + more))
        .at("choices")
        .at(size_t{0})
        .at("message");
  };
  const Json shown = message(R"("seed":1)");
  for (const char* more : {R"("include_reasoning":false)", R"("reasoning_format":"hidden")",
                           R"("reasoning":{"exclude":true})"}) {
    const Json hidden = message(more);
    EXPECT_FALSE(hidden.has("reasoning_content")) << more;
    EXPECT_EQ(hidden.get_string("content"), shown.get_string("content")) << more;
  }
  for (const char* more : {R"("separate_reasoning":false)", R"("reasoning_format":"none")",
                           R"("reasoning_format":"raw")"}) {
    EXPECT_NE(message(more).get_string("content").find("</think>"), std::string::npos) << more;
  }
  EXPECT_EQ(error_of(server.chat(R"("reasoning_format":"loud")")),
            "400 reasoning_format: reasoning_format: \"loud\" is not auto, none or hidden");
  // The history may contain thoughts under either name.
  EXPECT_NE(json_of(server.post("/apply-template",
                                R"({"messages":[{"role":"assistant","content":null,)"
                                R"("reasoning":"Hm."},{"role":"user","content":"B"}]})"))
                .get_string("prompt")
                .find("<think>\nHm.\n</think>"),
            std::string::npos);
}

TEST(Thoughts, OfATemplateWithoutASwitchSaySo) {
  const ThinkingServer always, with_switch("{{ '' if enable_thinking }}"),
      with_other_name("{{ '' if thinking }}"), with_word("{# enable_thinking #}");
  const auto ignored = [](const ThinkingServer& server, const std::string& more) {
    const Answer answer = server.chat(more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(find_field(answer.headers, "x-ignored-fields"));
  };
  EXPECT_EQ(ignored(always, R"("reasoning_effort":"high")"), "reasoning_effort");
  EXPECT_EQ(ignored(always, R"("reasoning_effort":"medium")"), "");
  EXPECT_EQ(ignored(always, R"("reasoning":{"effort":"low"})"), "reasoning");
  EXPECT_EQ(ignored(always, R"("think":"low")"), "think");
  EXPECT_EQ(ignored(always, R"("think":true)"), "");
  EXPECT_EQ(ignored(always, R"("enable_thinking":false)"), "enable_thinking");
  for (const char* more : {R"("reasoning_effort":"high")", R"("think":"low")", R"("think":false)",
                           R"("enable_thinking":false)", R"("reasoning":{"enabled":false})"}) {
    EXPECT_EQ(ignored(with_switch, more), "") << more;
    EXPECT_EQ(ignored(with_other_name, more), "") << more;
    EXPECT_NE(ignored(with_word, more), "") << more;
  }
}

}  // namespace
}  // namespace pippin::server
