#include "pippin/model_output/call_grammar.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/model_output/syntax_testing.h"

namespace pippin::model_output {
namespace {

using constrain::Grammar;
using constrain::Matcher;
using constrain::StateId;

Matcher matcher_of(const CallRules& rules) {
  auto grammar = std::make_shared<Grammar>();
  const auto root = grammar->add_rule("root");
  grammar->add_alternative(root,
                           {rules.is_required ? add_calls(*grammar, rules, nullptr)
                                              : add_text_and_calls(*grammar, rules, nullptr)});
  grammar->set_root(root);
  grammar->finish();
  return Matcher(grammar);
}

// Returns a random text of the grammar, or nothing if it gets too long.
std::optional<std::string> random_text(Matcher& matcher, std::mt19937& random) {
  std::string text;
  StateId state = matcher.start();
  while (text.size() < 4000) {
    if (matcher.can_end(state) && random() % 3 == 0) return text;
    std::vector<std::pair<uint8_t, StateId>> next;
    for (int byte = 0; byte < 256; ++byte) {
      const StateId to = matcher.step(state, static_cast<uint8_t>(byte));
      if (to != Matcher::kDead) next.emplace_back(static_cast<uint8_t>(byte), to);
    }
    if (next.empty()) return text;
    const auto& [byte, to] = next[random() % next.size()];
    text += static_cast<char>(byte);
    state = to;
  }
  return std::nullopt;
}

// Returns whether a text is a valid value for the schema.
bool is_valid(const Json& schema, const std::string& json) {
  auto grammar = std::make_shared<Grammar>();
  const auto root = grammar->add_rule("root");
  grammar->add_alternative(root,
                           {constrain::add_schema(*grammar, schema,
                                                  {.order = constrain::PropertyOrder::Any,
                                                   .whitespace = constrain::Whitespace::Flexible,
                                                   .every_spelling = true})});
  grammar->set_root(root);
  grammar->finish();
  return Matcher(grammar).matches(json);
}

// The parser must read everything that the grammar allows as calls with valid arguments, and
// nothing else.
void check(const std::shared_ptr<const CallSyntax>& syntax, const std::string& name) {
  const auto tools = some_tools();
  Matcher matcher = matcher_of({syntax, tools});
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20; ++i) {
    const auto text = random_text(matcher, random);
    if (!text) continue;
    ++read;
    AnswerParserOptions options;
    options.syntax = syntax;
    options.tools = tools;
    options.make_id = [] { return "made"; };
    options.prompt = "<|start|>assistant";
    AnswerParser parser(std::move(options));
    Answer answer;
    answer.add(parser.push(-1, *text));
    answer.add(parser.finish("", false));
    EXPECT_EQ(mark_of(answer.content), "") << name << ": " << *text;
    EXPECT_GE(answer.calls.size(), 1U) << name << ": " << *text;
    for (const auto& call : answer.calls) {
      const Tool& tool = (*tools)[call.name == "weather" ? 0 : 1];
      EXPECT_TRUE(call.is_complete && is_valid(tool.parameters, call.arguments))
          << name << ": " << call.arguments << " of " << *text;
    }
  }
  EXPECT_GT(read, 5) << name;
}

TEST(CallGrammar, IsReadByTheParser) {
  for (const std::string_view calls : {kHermes, kTagged, kList, kNamed, kPython, kBare}) {
    check(syntax_of(calls), std::string(calls));
  }
}

TEST(CallGrammar, OfPublishedTemplatesIsReadByTheParser) {
  PIPPIN_SHARED_OR_SKIP(folder, "serving/tool-calls/templates");
  const chat::Dict tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto chat = ChatTemplate::from_source(read_file(entry.path()), chat::Value(tokens));
    const auto syntax = read_call_syntax(chat);
    if (syntax) check(std::make_shared<CallSyntax>(*syntax), entry.path().filename().string());
  }
}

TEST(CallGrammar, SaysWhatCallsMayBe) {
  const auto accepts = [](std::string_view calls, std::string_view text, bool is_required = true,
                          bool is_parallel = true) {
    return matcher_of({syntax_of(calls), some_tools(), is_required, is_parallel}).matches(text);
  };
  const std::string one =
      "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"ab\", \"days\": 2}}\n"
      "</tool_call>";
  EXPECT_TRUE(accepts(kHermes, one));
  EXPECT_TRUE(accepts(kHermes, one + "\n" + one));
  EXPECT_FALSE(accepts(kHermes, one + "\n" + one, true, false));
  EXPECT_FALSE(accepts(kHermes, "So: " + one));
  EXPECT_TRUE(accepts(kHermes, "So: " + one, false));
  EXPECT_TRUE(accepts(kHermes, "just text", false));
  EXPECT_FALSE(accepts(kHermes, "just <tool_call> text", false));
  EXPECT_FALSE(
      accepts(kHermes, "<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(accepts(kHermes,
                       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": "
                       "\"ab\"}}\n</tool_call>"));
  EXPECT_TRUE(accepts(kBare, "no call", false));
  EXPECT_FALSE(accepts(kBare, " {\"no\": 1}", false));
}

TEST(CallGrammar, RefusesWhatStrictToolsCannotHave) {
  const auto compile = [](std::string_view calls, const char* schema, bool is_strict) {
    const auto tools =
        tools_of(std::string(R"([{"type":"function","function":{"name":"f","strict":)") +
                 (is_strict ? "true" : "false") + R"(,"parameters":)" + schema + "}}]");
    matcher_of({syntax_of(calls), tools});
  };
  const char* references = R"({"type":"object","properties":{"a":{"$ref":"http://x/y"}}})";
  EXPECT_ERROR(compile(kHermes, references, true), ErrorCode::Unsupported,
               "tool f: #/properties/a");
  EXPECT_NO_THROW(compile(kHermes, references, false));
  const char* format = R"({"type":"object","properties":{"a":{"type":"string","format":"date"}}})";
  EXPECT_ERROR(compile(kTagged, format, true), ErrorCode::Unsupported, "tool f: #/properties/a: ");
  EXPECT_NO_THROW(compile(kTagged, format, false));
  const char* list = R"({"type":"object","properties":{"a":{"type":"array"}}})";
  EXPECT_ERROR(compile(kPython, list, true), ErrorCode::Unsupported, "tool f: #/properties/a: ");
  EXPECT_NO_THROW(compile(kPython, list, false));
}

TEST(Tools, AreReadWithTheirPlaces) {
  const auto message = [](const char* json) {
    try {
      read_tools(Json::parse(json, "tools"));
      return std::string("none");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message("{}"), "tools: expected a list");
  EXPECT_EQ(message("[1]"), "tools[0]: expected an object");
  EXPECT_EQ(message(R"([{"type":"web_search"}])"), "tools[0].type: only functions are taken");
  EXPECT_EQ(message(R"([{"type":"function","function":{}}])"),
            "tools[0].function.name: is missing");
  EXPECT_EQ(message(R"([{"function":{"name":"a b"}}])"),
            "tools[0].function.name: expected up to 128 letters, digits, '_', '-' and '.'");
  EXPECT_EQ(message(R"([{"function":{"name":"a","parameters":{"type":"array"}}}])"),
            "tools[0].function.parameters: the type has to be \"object\"");
  EXPECT_EQ(message(R"([{"function":{"name":"a"}},{"name":"a"}])"),
            "tools[1]: \"a\" is the name of another tool, too");
}

}  // namespace
}  // namespace pippin::model_output
