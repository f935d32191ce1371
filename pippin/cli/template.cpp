#include "pippin/cli/template.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "pippin/answer/answer_parser.h"
#include "pippin/answer/read_syntax.h"
#include "pippin/app/conversation.h"
#include "pippin/app/open_text.h"
#include "pippin/app/text_input.h"
#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/cli/options.h"
#include "pippin/cli/pull_display.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct TemplateCommand {
  std::string model, conversation, name, answer;
  bool no_generation_prompt = false, continues = false, jsonl = false;

  PromptEnd end() const {
    return continues              ? PromptEnd::Continuation
           : no_generation_prompt ? PromptEnd::Conversation
                                  : PromptEnd::Generation;
  }
};

ChatTemplate open_template(const TemplateCommand& command) {
  const std::string path = local_model(command.model, app::ModelPart::Tokenizer);
  auto found = ChatTemplate::from_sources(app::read_template_sources(path), command.name);
  if (!found) fail(ErrorCode::NotFound, "{}: has no chat template", command.model);
  return *std::move(found);
}

// What there is in an answer to the conversation.
std::string parts_json(const TemplateCommand& command, const ChatTemplate& chat,
                       const app::Conversation& conversation) {
  answer::AnswerParserOptions options;
  if (auto marks = answer::find_reasoning(chat, nullptr)) {
    options.reasoning = std::make_shared<answer::ReasoningMarks>(std::move(*marks));
  }
  if (auto syntax = answer::read_call_syntax(chat)) {
    options.syntax = std::make_shared<answer::CallSyntax>(std::move(*syntax));
  }
  if (const chat::Value* tools = conversation.context.find("tools")) {
    options.tools = std::make_shared<std::vector<answer::Tool>>(
        answer::read_tools(Json::parse(chat::to_json(*tools), "tools")));
    if (options.syntax == nullptr) {
      fail(ErrorCode::Unsupported, "{}: the template does not tell how its model calls tools",
           command.model);
    }
  }
  options.prompt = chat.render(conversation.context, PromptEnd::Generation, conversation.options);
  options.is_thinking =
      options.reasoning != nullptr && answer::begins_thinking(*options.reasoning, options.prompt);
  int number = 0;
  options.make_id = [&number] { return fmt::format("call_{}", number++); };
  answer::AnswerParser parser(std::move(options));
  answer::Answer parts;
  parts.add(parser.push(-1, app::read_text(command.answer)));
  parts.add(parser.finish("", /*was_cut=*/false));
  JsonWriter json;
  json.begin_object().member("content", parts.content);
  json.member("reasoning_content", parts.thoughts).key("tool_calls").begin_array();
  for (const auto& call : parts.calls) {
    json.begin_object().member("id", call.id).member("name", call.name);
    json.member("arguments", call.arguments).end_object();
  }
  return json.end_array().end_object().text();
}

void print_one(const TemplateCommand& command, const ChatTemplate& chat) {
  const std::string name = command.conversation == "-" ? "stdin" : command.conversation;
  const auto conversation =
      app::parse_conversation(app::read_text(command.conversation), name, command.end());
  if (!command.answer.empty()) {
    return print_out(parts_json(command, chat, conversation) + "\n");
  }
  std::string text = chat.render(conversation.context, conversation.end, conversation.options);
  // To the byte, but for people.
  if (::isatty(STDOUT_FILENO) == 1 && !text.ends_with('\n')) text += '\n';
  print_out(text);
}

// A line's answer: the text, or why the template gives none.
std::string answer(const ChatTemplate& chat, const app::Conversation& conversation) {
  JsonWriter writer;
  try {
    writer.value(chat.render(conversation.context, conversation.end, conversation.options));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    writer.begin_object().member("error", error.what()).end_object();
  }
  return writer.text() + "\n";
}

void print_many(const TemplateCommand& command, const ChatTemplate& chat) {
  app::for_each_line(command.conversation, [&](std::string_view line, int64_t number) {
    print_out(
        answer(chat, app::parse_conversation(line, fmt::format("line {}", number), command.end())));
  });
}

}  // namespace

CLI::App* add_template_command(CLI::App& app) {
  auto command = std::make_shared<TemplateCommand>();
  CLI::App* sub = app.add_subcommand(
      "template", "Print the prompt that a chat template makes of a conversation");
  sub->add_option("MODEL", command->model,
                  "A package, a model's folder, org/name on the Hub, or a file: a template "
                  "(.jinja), tokenizer_config.json or chat_template.json")
      ->type_name("")
      ->required();
  sub->add_option("CONVERSATION", command->conversation,
                  "A JSON file: an object with messages, tools and other variables of the "
                  "template, or a list of messages; - is stdin")
      ->type_name("")
      ->required();
  sub->add_option("--template", command->name, "The template of this name, if there are several")
      ->type_name("NAME");
  auto* plain = sub->add_flag("--no-generation-prompt", command->no_generation_prompt,
                              "End after the last message, without the beginning of an answer");
  sub->add_flag("--continue-final-message", command->continues,
                "End inside the last message, for the model to continue it")
      ->excludes(plain);
  auto* lines = sub->add_flag(
      "--jsonl", command->jsonl,
      "One conversation per line in, one JSON string per line out, or {\"error\": ...}");
  sub->add_option("--answer", command->answer,
                  "Print what there is in this answer: thoughts, content and calls of tools, as "
                  "JSON; - is stdin")
      ->type_name("FILE")
      ->excludes(plain)
      ->excludes(lines);
  sub->footer(
      "\"now\": \"2025-01-02 03:04:05\" in a conversation is the time of strftime_now;\n"
      "\"add_generation_prompt\" and \"continue_final_message\" are as in transformers.");
  sub->callback([command] {
    const ChatTemplate chat = open_template(*command);
    command->jsonl ? print_many(*command, chat) : print_one(*command, chat);
  });
  return sub;
}

}  // namespace pippin::cli
