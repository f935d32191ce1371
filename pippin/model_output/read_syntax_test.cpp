#include "pippin/model_output/read_syntax.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/chat/json.h"
#include "pippin/model_output/syntax_testing.h"
#include "pippin/model_output/told_calls.h"

namespace pippin::model_output {
namespace {

using Kind = CallPiece::Kind;
using Shape = CallSyntax::Shape;

std::string pieces(const CallSyntax& syntax) {
  std::string text;
  for (const CallPiece& piece : syntax.pieces) {
    constexpr std::string_view kNames[] = {"", "NAME", "ID", "NUMBER", "ARGUMENTS"};
    text += piece.text;
    text += kNames[static_cast<size_t>(piece.kind)];
  }
  return text;
}

TEST(ReadSyntax, Objects) {
  const auto syntax = syntax_of(kHermes);
  ASSERT_NE(syntax, nullptr);
  EXPECT_EQ(syntax->shape, Shape::Object);
  EXPECT_EQ(pieces(*syntax), "{\"name\": \"NAME\", \"arguments\": ARGUMENTS}");
  EXPECT_EQ(syntax->section_begin + syntax->call_begin, "\n<tool_call>\n");
  EXPECT_EQ(mark_of(syntax->call_end + syntax->section_end), "</tool_call>");
  EXPECT_EQ(syntax->name_key, "name");
  EXPECT_EQ(syntax->arguments_key, "arguments");
  EXPECT_TRUE(syntax->is_written);
  EXPECT_FALSE(syntax->has_one_call);
}

TEST(ReadSyntax, ListsWithIds) {
  const auto syntax = syntax_of(kList);
  ASSERT_NE(syntax, nullptr);
  EXPECT_EQ(pieces(*syntax), "{\"name\": \"NAME\", \"arguments\": ARGUMENTS, \"id\": \"ID\"}");
  EXPECT_EQ(syntax->section_begin, "[CALLS][");
  EXPECT_EQ(syntax->separator, ", ");
  EXPECT_EQ(syntax->section_end, "]");
  EXPECT_EQ(syntax->id_key, "id");
  const auto named = syntax_of(kNamed);
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(pieces(*named), "NAME[ID]ID[ARGS]ARGUMENTS");
  EXPECT_EQ(named->call_begin, "[CALL]");
}

TEST(ReadSyntax, MarkedArguments) {
  const auto syntax = syntax_of(kTagged);
  ASSERT_NE(syntax, nullptr);
  EXPECT_EQ(syntax->arguments, CallSyntax::Arguments::Tagged);
  EXPECT_EQ(pieces(*syntax), "NAME>ARGUMENTS");
  EXPECT_EQ(syntax->call_begin, "<tool_call>\n<function=");
  EXPECT_EQ(syntax->key_begin, "\n<parameter=");
  EXPECT_EQ(syntax->key_end, ">\n");
  EXPECT_EQ(syntax->value_end, "\n</parameter>");
  EXPECT_EQ(syntax->call_end, "\n</function>\n</tool_call>");
  const auto python = syntax_of(kPython);
  ASSERT_NE(python, nullptr);
  EXPECT_EQ(python->arguments, CallSyntax::Arguments::Python);
  EXPECT_EQ(python->section_begin, "<calls>[");
  EXPECT_EQ(python->section_end, "]</calls>");
}

TEST(ReadSyntax, OneCallWithoutMarks) {
  const auto syntax = syntax_of(kBare);
  ASSERT_NE(syntax, nullptr);
  EXPECT_TRUE(syntax->has_one_call);
  EXPECT_EQ(syntax->section_begin + syntax->call_begin, "");
  EXPECT_EQ(syntax->arguments_key, "parameters");
}

TEST(ReadSyntax, TemplatesMayAskForTokens) {
  const auto syntax = read_call_syntax(chat_template(
      "{{ bos_token + 'x' }}" + template_source(kBare) + "{{ '<|python_tag|>'[0:0] }}"));
  ASSERT_TRUE(syntax);
  EXPECT_EQ(syntax->loose_begin, "<|python_tag|>");
  AnswerParserOptions options;
  options.syntax = std::make_shared<CallSyntax>(*syntax);
  options.tools = some_tools();
  options.make_id = [] { return "made"; };
  for (const char* text : {"<|python_tag|>{\"name\": \"weather\", \"parameters\": {\"days\": 1}}",
                           "<|python_tag|>weather.call(days=1)"}) {
    AnswerParser parser(options);
    Answer answer;
    answer.add(parser.push(-1, text));
    answer.add(parser.finish("", false));
    EXPECT_EQ(answer.content, "");
    ASSERT_EQ(answer.calls.size(), 1U) << text;
    EXPECT_EQ(answer.calls[0].arguments, "{\"days\": 1}");
  }
}

TEST(ReadSyntax, ArgumentsAsText) {
  const auto syntax = syntax_of(
      "{% for c in m.tool_calls %}<f={{ c.function.name }}>{{ '' + c.function.arguments }}</f>"
      "{% endfor %}");
  ASSERT_NE(syntax, nullptr);
  EXPECT_TRUE(syntax->arguments_are_text);
  EXPECT_EQ(syntax->call_begin, "<f=");
  const chat::Value told = told_calls(
      *syntax, chat::parse_json(R"([{"role": "assistant", "content": "", "tool_calls": [{"id": "1",
          "function": {"name": "f", "arguments": {"a": 1}}}]},
          {"role": "tool", "tool_call_id": "1", "content": "x"}])",
                                "test"));
  EXPECT_EQ(
      chat::to_json(told),
      R"([{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": )"
      R"("f", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "1", "content": )"
      R"("x", "name": "f"}])");
}

TEST(ReadSyntax, OfTemplatesThatWriteNoCalls) {
  const std::string plain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
  EXPECT_FALSE(read_call_syntax(chat_template(plain)));
  EXPECT_FALSE(takes_tools(chat_template(plain)));
  const auto told =
      read_call_syntax(chat_template("{{ tools | tojson }}<tool_call>{...}</tool_call>" + plain));
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->is_written);
  const chat::Value messages = told_calls(
      *told, chat::parse_json(R"([{"role": "assistant", "content": "So:", "tool_calls": [{"id": "1",
          "function": {"name": "f", "arguments": {"a": 1}}}]}])",
                              "test"));
  EXPECT_EQ(messages.list().items[0].dict().find("content")->string(),
            "So:<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>");
  EXPECT_FALSE(read_call_syntax(chat_template("{{ raise_exception('no') }}")));
  EXPECT_FALSE(takes_tools(chat_template("{{ raise_exception('no') }}")));
}

// The syntax can be inferred from every template in the shared data that accepts tools.
TEST(ReadSyntax, OfPublishedTemplates) {
  PIPPIN_SHARED_OR_SKIP(folder, "templates/jinja");
  const chat::Dict tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::optional<ChatTemplate> chat;
    try {
      chat = ChatTemplate::from_source(read_file(entry.path()), chat::Value(tokens));
    } catch (const Error&) {
      continue;
    }
    if (!takes_tools(*chat)) continue;
    const auto syntax = read_call_syntax(*chat);
    // This template writes names twice.
    if (name == "ollama__glimmer_chat_template.jinja.jinja") continue;
    EXPECT_TRUE(syntax) << name;
    if (!syntax) continue;
    ++read;
    for (const std::string* mark : {&syntax->section_begin, &syntax->call_begin, &syntax->call_end,
                                    &syntax->separator, &syntax->section_end}) {
      EXPECT_EQ(mark->find("7331"), std::string::npos) << name << ": " << *mark;
      EXPECT_EQ(mark->find("probe"), std::string::npos) << name << ": " << *mark;
    }
  }
  EXPECT_GE(read, 60);
}

}  // namespace
}  // namespace pippin::model_output
