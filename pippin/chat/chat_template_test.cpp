#include "pippin/chat/chat_template.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

const Message kMessages[] = {{"system", " Be brief. "}, {"user", "Hi"}};

TEST(ChatTemplate, FromTokenizerConfig) {
  const TempDir folder;
  const std::string source = kTemplate;
  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": "[B]", "eos_token": {"content": "[E]", "lstrip": false},
                 "pad_token": null, "chat_template": ")" +
                 source + "\"}");
  const auto chat = ChatTemplate::from_folder(folder.path());
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->render(kMessages, true), "[B]<system>Be brief.[E]<user>Hi[E]<assistant>");
  EXPECT_EQ(chat->render(kMessages, false), "[B]<system>Be brief.[E]<user>Hi[E]");
}

TEST(ChatTemplate, TheDefaultOfAList) {
  const TempDir folder;
  write_file(folder / "tokenizer_config.json",
             R"({"chat_template": [{"name": "tool_use", "template": "tools"},
                                   {"name": "default", "template": "{{ messages | length }}"}]})");
  EXPECT_EQ(ChatTemplate::from_folder(folder.path())->render(kMessages, true), "2");
}

TEST(ChatTemplate, AFileOfItsOwnComesFirst) {
  const TempDir folder;
  write_file(folder / "tokenizer_config.json", R"({"bos_token": "<s>", "chat_template": "old"})");
  write_file(folder / "chat_template.jinja", "new {{ bos_token }}\n");
  EXPECT_EQ(ChatTemplate::from_folder(folder.path())->render(kMessages, true), "new <s>");
}

TEST(ChatTemplate, OneOfSeveralByNameOrForTools) {
  const TempDir folder;
  write_file(folder / "tokenizer_config.json",
             R"({"chat_template": [{"name": "default", "template": "plain"},
                                   {"name": "tool_use", "template": "{{ tools[0] }}"}]})");
  const auto chat = ChatTemplate::from_folder(folder.path());
  const chat::Dict tools{{"tools", chat::Value(std::vector<chat::Value>{"hammer"})}};
  EXPECT_EQ(chat->render(tools, PromptEnd::Generation), "hammer");
  EXPECT_EQ(chat->render(kMessages, true), "plain");
  EXPECT_EQ(
      ChatTemplate::from_folder(folder.path(), "default")->render(tools, PromptEnd::Generation),
      "plain");
  EXPECT_ERROR(ChatTemplate::from_folder(folder.path(), "rag"), ErrorCode::NotFound,
               "no chat template is named 'rag', there are: default, tool_use");
  // Without a default template: for tools only.
  write_file(folder / "tokenizer_config.json",
             R"({"chat_template": [{"name": "rag", "template": "rag"},
                                   {"name": "tool_use", "template": "{{ tools[0] }}"}]})");
  const auto for_tools = ChatTemplate::from_folder(folder.path());
  EXPECT_EQ(for_tools->render(tools, PromptEnd::Generation), "hammer");
  EXPECT_ERROR(for_tools->render(kMessages, true), ErrorCode::NotFound, "rag, tool_use");
}

TEST(ChatTemplate, FilesOfSeveralTemplates) {
  const TempDir folder;
  write_file(folder / "chat_template.json", R"({"chat_template": "processor"})");
  write_file(folder / "special_tokens_map.json", R"({"bos_token": {"content": "[B]"}})");
  EXPECT_EQ(ChatTemplate::from_folder(folder.path())->render(kMessages, true), "processor");
  std::filesystem::create_directory(folder / "additional_chat_templates");
  write_file(folder / "chat_template.jinja", "main");
  write_file(folder / "additional_chat_templates" / "rag.jinja", "rag {{ bos_token }}");
  EXPECT_EQ(ChatTemplate::from_folder(folder.path())->render(kMessages, true), "main");
  EXPECT_EQ(ChatTemplate::from_folder(folder.path(), "rag")->render(kMessages, true), "rag [B]");
}

// As transformers' continue_final_message.
TEST(ChatTemplate, ContinuesTheFinalMessage) {
  using chat::Dict;
  using chat::Value;
  const auto render = [](const char* source, const Value& content) {
    const Value last(Dict{{"role", "assistant"}, {"content", content}});
    return ChatTemplate::from_source(source, {})
        .render(Dict{{"messages", Value(std::vector<Value>{last})}}, PromptEnd::Continuation);
  };
  const char* plain = "<{{ messages[0].content }}>{{ add_generation_prompt }}";
  EXPECT_EQ(render(plain, "Once "), "<Once ");
  EXPECT_EQ(render("< {{ messages[0].content | trim }}>", "Once "), "< Once");
  const Value part(Dict{{"type", "text"}, {"text", "Up"}});
  EXPECT_EQ(render("{{ messages[0].content[0].text }}!", Value(std::vector<Value>{part})), "Up");
  EXPECT_ERROR(render("nothing", "Once"), ErrorCode::InvalidArgument,
               "does not write out the final message");
  EXPECT_ERROR(render(plain, Value()), ErrorCode::InvalidArgument,
               "no text in a final message to continue");
}

TEST(ChatTemplate, NoneIsNoError) {
  const TempDir folder;
  EXPECT_FALSE(ChatTemplate::from_folder(folder.path()).has_value());
  write_file(folder / "tokenizer_config.json", "{}");
  EXPECT_FALSE(ChatTemplate::from_folder(folder.path()).has_value());
}

TEST(ChatTemplate, BrokenFilesAreNamed) {
  const TempDir folder;
  for (const char* config :
       {"[]", "{", R"({"chat_template": 3})", R"({"chat_template": "{% if"})"}) {
    write_file(folder / "tokenizer_config.json", config);
    EXPECT_ERROR(ChatTemplate::from_folder(folder.path()), ErrorCode::InvalidFile,
                 "tokenizer_config.json");
  }
}

TEST(ChatTemplate, RefusedConversations) {
  const auto chat = ChatTemplate::from_source(
      "{% for m in messages %}\n{{ raise_exception('No ' + m.role) }}{% endfor %}", {});
  EXPECT_ERROR(chat.render(kMessages, false), ErrorCode::InvalidArgument,
               "chat template, line 2: No system");
}

}  // namespace
}  // namespace pippin
