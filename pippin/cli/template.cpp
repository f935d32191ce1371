#include "pippin/cli/template.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "pippin/app/conversation.h"
#include "pippin/app/open/open_text.h"
#include "pippin/app/open/text_input.h"
#include "pippin/app/read_answer.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
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

void print_one(const TemplateCommand& command, const ChatTemplate& chat) {
  const std::string name = command.conversation == "-" ? "stdin" : command.conversation;
  const auto conversation =
      app::parse_conversation(app::read_text(command.conversation), name, command.end());
  if (!command.answer.empty()) {
    const auto answer = with_context(command.model, [&] {
      return app::read_answer(chat, conversation, app::read_text(command.answer));
    });
    return print_out(app::to_json(answer) + "\n");
  }
  std::string text = chat.render(conversation.context, conversation.end, conversation.options);
  // The exact text, but with a final newline on a terminal.
  if (::isatty(STDOUT_FILENO) == 1 && !text.ends_with('\n')) text += '\n';
  print_out(text);
}

// The answer to a line: the rendered text, or the reason why the template fails.
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
                  "Print the parts of this answer: thoughts, content and tool calls, as "
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
