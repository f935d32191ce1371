// Anthropic's endpoint as agents use it: hints, instructions and tools that change during a
// conversation.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/model_output/syntax_testing.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;
using http::find_field;

constexpr const char* kMark =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}";
constexpr const char* kHello = R"("messages":[{"role":"user","content":"Hello"}])";

// The demo model with a template.
class TemplateServer {
 public:
  explicit TemplateServer(const std::string& source) {
    write_file(folder_ / "template.jinja", source);
    Options options = demo_options();
    options.models.choice.load.chat_template = (folder_ / "template.jinja").string();
    server_ = std::make_unique<DemoServer>(std::move(options));
  }
  Answer ask(const std::string& more, const char* path = "/v1/messages") const {
    return server_->post(path, R"({"max_tokens":1,)" + more + "}");
  }
  // Returns the number of tokens of a prompt, from both endpoints.
  int64_t tokens(const std::string& more) const {
    const Answer counted = ask(more, "/v1/messages/count_tokens"), answer = ask(more);
    EXPECT_EQ(counted.status, 200) << counted.body;
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(find_field(counted.headers, "x-ignored-fields"),
              find_field(answer.headers, "x-ignored-fields"));
    const Json usage = json_of(answer).at("usage");
    const int64_t count = json_of(counted).get_int("input_tokens");
    EXPECT_EQ(usage.get_int("input_tokens") + usage.get_int("cache_read_input_tokens"), count);
    return count;
  }
  std::string ignored(const std::string& more) const {
    const Answer answer = ask(more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    tokens(more);
    return std::string(find_field(answer.headers, "x-ignored-fields"));
  }

 private:
  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

std::string effort(const std::string& level) {
  return fmt::format(R"("output_config":{{"effort":"{}"}},{})", level, kHello);
}
std::string thinking(const std::string& type) {
  return fmt::format(R"("thinking":{{"type":"{}"}},{})", type, kHello);
}
// Writes as many words as the level has letters, so that prompts differ in length.
std::string levels(const std::string& before) {
  return std::string(kMark) + before + "[effort {{ reasoning_effort | default('') }}]" +
         "{% for c in reasoning_effort | default('') %} one{% endfor %}";
}

TEST(MessageHints, OfEffortReachTheTemplate) {
  const TemplateServer any(levels("")),
      some(
          levels("{% if reasoning_effort is defined and reasoning_effort not in ['none', 'high'] %}"
                 "{{ raise_exception('either none or high') }}{% endif %}"));
  const int64_t none = any.tokens(kHello);
  EXPECT_GT(any.tokens(effort("low")), none);
  EXPECT_GT(any.tokens(effort("medium")), any.tokens(effort("low")));
  EXPECT_EQ(any.tokens(effort("max")), any.tokens(effort("high")));
  EXPECT_EQ(any.ignored(effort("high")), "");
  EXPECT_EQ(any.ignored(effort("strange")), "output_config.effort");
  for (const char* level : {"low", "medium", "high", "xhigh", "max"}) {
    EXPECT_EQ(some.tokens(effort(level)), any.tokens(effort("high"))) << level;
    EXPECT_EQ(some.ignored(effort(level)), "") << level;
  }
  // Effort of a later turn, and explicit fields.
  EXPECT_EQ(any.tokens(R"("output_config":{"effort":"low"},"messages":[{"role":"user",)"
                       R"("content":"Hello"},{"role":"system","content":[],"output_config":)"
                       R"({"effort":"medium"}}])"),
            any.tokens(effort("medium")));
  EXPECT_EQ(any.tokens(R"("reasoning_effort":"low",)" + effort("high")), any.tokens(effort("low")));
  EXPECT_EQ(some.tokens(R"("thinking":{"type":"disabled"},)" + effort("high")),
            some.tokens(R"("reasoning_effort":"none",)" + std::string(kHello)));
  EXPECT_EQ(some.tokens(thinking("enabled")), some.tokens(effort("high")));
}

TEST(MessageHints, WithoutLevelsOrASwitchAreNamed) {
  const TemplateServer plain(kMark);
  for (const char* level : {"low", "medium", "high", "max"}) {
    EXPECT_EQ(plain.ignored(effort(level)), "output_config.effort") << level;
  }
  EXPECT_EQ(plain.ignored(thinking("adaptive")), "");
  EXPECT_EQ(plain.ignored(thinking("disabled")), "");
  EXPECT_EQ(plain.ignored(thinking("enabled")), "thinking");
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    const Answer wrong = plain.ask(R"("output_config":{"effort":5},)" + std::string(kHello), path);
    EXPECT_TRUE(error_of(wrong).starts_with("400 -: ")) << wrong.body;
    EXPECT_EQ(plain.ask(thinking("loud"), path).status, 400);
  }
}

// With the switch of Qwen's templates, and that of DeepSeek's and Granite's.
class MessageSwitch : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Names, MessageSwitch, testing::Values("enable_thinking", "thinking"));

TEST_P(MessageSwitch, IsTurnedByAllFields) {
  const TemplateServer model(
      std::string(kMark) + fmt::format("{{% if {0} is defined %}}{{{{ 'one one one one one' if {0} "
                                       "else 'off' }}}}{{% endif %}}",
                                       GetParam()));
  const int64_t free = model.tokens(kHello), on = model.tokens(thinking("enabled")),
                off = model.tokens(thinking("disabled"));
  EXPECT_LT(free, off);
  EXPECT_LT(off, on);
  EXPECT_EQ(model.tokens(thinking("adaptive")), free);
  EXPECT_EQ(model.tokens(effort("low")), on);
  EXPECT_EQ(model.tokens(R"("thinking":{"type":"disabled"},)" + effort("high")), off);
  EXPECT_EQ(model.ignored(effort("low")), "");
  for (const char* name : {"enable_thinking", "thinking"}) {
    const std::string more =
        fmt::format(R"("chat_template_kwargs":{{"{}":false}},{})", name, kHello);
    EXPECT_EQ(model.tokens(more), off) << name;
  }
}

TEST(MessageHints, OfAModelThatAlwaysThinks) {
  const TemplateServer model(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>\n"
      "{{ m.reasoning_content }}\n</think>\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}");
  EXPECT_EQ(model.ignored(thinking("disabled")), "thinking");
  EXPECT_EQ(model.ignored(thinking("enabled")), "");
  EXPECT_EQ(model.ignored(thinking("adaptive")), "");
  EXPECT_EQ(model.ignored(effort("medium")), "output_config.effort");
}

TEST(Messages, OfSystemsBetweenTurns) {
  const std::string later =
      R"("messages":[{"role":"user","content":"Hello"},{"role":"system","content":[{"type":"text",)"
      R"("text":"Be brief.","cache_control":{"type":"ephemeral"}}]}])";
  const TemplateServer any(kMark),
      first(std::string("{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
                        "{{ raise_exception('at the beginning') }}{% endif %}{% endfor %}") +
            kMark);
  EXPECT_EQ(first.tokens(later),
            first.tokens(R"("messages":[{"role":"user","content":"Hello\nBe brief."}])"));
  EXPECT_GT(any.tokens(later), first.tokens(later));
  // Instructions at the front are joined with `system`.
  EXPECT_EQ(first.tokens(R"("system":"A","messages":[{"role":"system","content":"B"},)"
                         R"({"role":"user","content":"Hello"}])"),
            first.tokens(R"("system":"A\nB",)" + std::string(kHello)));
  // Instructions that end with the next turn are dropped after it.
  EXPECT_EQ(
      any.tokens(R"("messages":[{"role":"user","content":"a"},{"role":"system","content":"x",)"
                 R"("clear_at":"next_user_message"},{"role":"user","content":"b"}])"),
      any.tokens(R"("messages":[{"role":"user","content":"a"},)"
                 R"({"role":"user","content":"b"}])"));
}

TEST(Messages, ThatAreTooLongSayItInAnthropicsWords) {
  const TemplateServer model(kMark);
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  const std::string body = R"("messages":[{"role":"user","content":")" + words + R"("}])";
  const int64_t count =
      json_of(model.ask(body, "/v1/messages/count_tokens")).get_int("input_tokens");
  const Json error = json_of(model.ask(body)).at("error");
  EXPECT_EQ(error.get_string("message"),
            fmt::format("prompt is too long: {} tokens > 512 maximum", count));
  EXPECT_EQ(error.get_string("type"), "invalid_request_error");
  // Streams are refused too, before they begin.
  EXPECT_EQ(model.ask(R"("stream":true,)" + body).status, 400);
}

TEST(Messages, TakeTheFieldsOfAgents) {
  const TemplateServer model(kMark);
  const std::string agent =
      R"("metadata":{"user_id":"u"},"context_management":{"edits":[{"type":"clear_thinking_20251015",)"
      R"("keep":"all"}]},"service_tier":"auto","betas":["x"],"speed":"standard","container":null,)"
      R"("mcp_servers":[],"system":[{"type":"text","text":"x-anthropic-billing-header: cc=1;"},)"
      R"({"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h"}}],)"
      R"("cache_control":{"type":"ephemeral"},)";
  EXPECT_EQ(model.ignored(agent + kHello), "");
  EXPECT_EQ(model.tokens(agent + kHello), model.tokens(R"("system":"S",)" + std::string(kHello)));
  for (const char* refused : {R"("mcp_servers":[{"type":"url","url":"http://x","name":"x"}],)",
                              R"("container":"c",)", R"("thread":"t",)"}) {
    for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
      EXPECT_EQ(model.ask(refused + std::string(kHello), path).status, 400) << refused;
    }
  }
  EXPECT_EQ(model.ask(kHello, "/v1/messages?beta=true").status, 200);
}

TEST(Messages, HaveTextsInOtherBlocks) {
  const TemplateServer model(kMark);
  const auto block = [](const std::string& one) {
    return R"("messages":[{"role":"user","content":[)" + one + "]}]";
  };
  EXPECT_EQ(model.tokens(block(R"({"type":"document","title":"T","source":{"type":"text",)"
                               R"("media_type":"text/plain","data":"walnut"}})")),
            model.tokens(block(R"({"type":"text","text":"T\nwalnut"})")));
  EXPECT_EQ(model.tokens(block(R"({"type":"search_result","title":"T","source":"s","content":)"
                               R"([{"type":"text","text":"walnut"}]})")),
            model.tokens(block(R"({"type":"text","text":"T\ns\nwalnut"})")));
  const std::vector<std::pair<const char*, const char*>> others = {
      {R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}})",
       "the model takes text only, not image"},
      {R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":""}})",
       "are not supported here"},
      {R"({"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{}}]})",
       "source: has no type"}};
  for (const auto& [other, reason] : others) {
    for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
      const Answer refused = model.ask(block(other), path);
      EXPECT_EQ(refused.status, 400) << other;
      EXPECT_NE(refused.body.find(reason), std::string::npos) << refused.body;
    }
  }
}

// Checks which tools the prompt contains, by the number of tokens of their definitions.
TEST(MessageTools, ComeAndGo) {
  const TemplateServer model(model_output::template_source(model_output::kHermes));
  const auto tool = [](const std::string& name, const std::string& more = "") {
    return R"({"name":")" + name +
           R"(","description":"One two three","input_schema":{"type":"object"})" + more + "}";
  };
  const auto asked = [](const std::string& tools, const std::string& more = "") {
    return R"("tools":[)" + tools + R"(],"messages":[{"role":"user","content":"Go")" + more + "}]";
  };
  const std::string a = tool("aa"), b = tool("bb", R"(,"defer_loading":true)");
  const int64_t one = model.tokens(asked(a)), two = model.tokens(asked(a + "," + tool("bb")));
  EXPECT_LT(one, two);
  EXPECT_EQ(model.tokens(asked(a + "," + b)), one);
  const auto change = [](const std::string& block) {
    return R"(},{"role":"system","content":[)" + block + "]";
  };
  EXPECT_EQ(model.tokens(asked(a + "," + b, change(R"({"type":"tool_addition","tool":)"
                                                   R"({"type":"tool_reference","name":"bb"}})"))),
            two);
  EXPECT_EQ(model.tokens(asked(a, change(R"({"type":"tool_addition","tool":{"type":)"
                                         R"("tool_definition","definition":)" +
                                         b + "}}"))),
            two);
  EXPECT_EQ(model.tokens(asked(a + "," + tool("bb"),
                               change(R"({"type":"tool_removal","tool":{"type":"tool_reference",)"
                                      R"("name":"bb"}})"))),
            one);
  // A result that refers to a tool loads it.
  EXPECT_GT(model.tokens(asked(a + "," + b, R"(},{"role":"user","content":[{"type":"tool_result",)"
                                            R"("tool_use_id":"1","content":[{"type":)"
                                            R"("tool_reference","tool_name":"bb"}]}])")),
            two);
  // Without the server's search, all are loaded.
  EXPECT_EQ(model.tokens(asked(a + "," + b +
                               R"(,{"type":"tool_search_tool_regex_20251119","name":"search"})")),
            two);
}

TEST(MessageTools, OfAnthropicsServersAreSkippedOrRefused) {
  const TemplateServer model(model_output::template_source(model_output::kHermes));
  const std::string search = R"({"type":"web_search_20250305","name":"web_search","max_uses":8})";
  const std::string own = R"({"type":"custom","name":"own","input_schema":{"type":"object"}})";
  EXPECT_EQ(model.ignored(R"("tools":[)" + search + "," + own + "]," + kHello),
            "tools.web_search_20250305");
  const Answer refused = model.ask(R"("tools":[)" + search + "]," + kHello);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json_of(refused).at("error").get_string("message"),
            "tools[0].type: web_search_20250305 is a tool of Anthropic's, not the caller's");
  EXPECT_EQ(model
                .ask(R"("tool_choice":{"type":"tool","name":"web_search"},"tools":[)" + search +
                     "," + own + "]," + kHello)
                .status,
            400);
}

}  // namespace
}  // namespace pippin::server
