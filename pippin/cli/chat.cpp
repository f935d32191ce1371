#include "pippin/cli/chat.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/cli/options/form_options.h"
#include "pippin/cli/options/model_entry.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/options/tool_options.h"
#include "pippin/repl/repl.h"

namespace pippin::cli {
namespace {

struct ChatCommand {
  std::string model, url, key, system, tokenizer, history, load_file, thinking;
  std::filesystem::path prompt_cache;
  std::vector<std::string> parameters;
  ToolOptions tools;
  bool allows_tools = false;
  runtime::LoadOptions load;
  app::DraftChoice draft;
  FormArguments form;
  bool is_verbose = false, no_wrap = false, no_history = false;
};

// Opens the named model, or the first one, in this process.
repl::Opened open_here(const ChatCommand& command, const std::string& model) {
  guard_mapped_files(MappedGuard::MarkFile);  // an exit would leave the terminal in raw mode
  server::ModelListOptions options;
  options.models.push_back(model_entry(model.empty() ? "demo" : model));
  options.choice.tokenizer = command.tokenizer;
  options.choice.load = command.load;
  options.draft = command.draft;
  options.choice.pulls = show_pulls();
  options.scheduler.cache_file = command.prompt_cache;
  repl::Opened opened{std::make_unique<repl::Client>(repl::serve_here(std::move(options))), {}};
  opened.model = opened.client->models().front();
  return opened;
}

// Opens the named model, or the first one, on a server.
repl::Opened open_there(const ChatCommand& command, const std::string& model) {
  std::string key = command.key;
  if (const char* other = std::getenv("PIPPIN_API_KEY"); key.empty() && other != nullptr) {
    key = other;
  }
  repl::Opened opened{std::make_unique<repl::Client>(repl::connect(command.url, key)), {}};
  const auto models = opened.client->models();
  std::string names;
  for (const repl::ModelInfo& one : models) {
    names += (names.empty() ? "" : ", ") + one.name;
    if (!model.empty() && one.name != model) continue;
    opened.model = one;
    return opened;
  }
  fail(ErrorCode::NotFound, "{} has no model \"{}\", but {}", command.url, model,
       names.empty() ? "none" : names);
}

void set_parameters(const ChatCommand& command, repl::Dialogue& dialogue) {
  for (const std::string& text : command.parameters) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw CLI::ValidationError("--set: \"" + text + "\" is not of the form NAME=VALUE");
    }
    try {
      dialogue.set_parameter(text.substr(0, equals), {text.substr(equals + 1)});
    } catch (const Error& error) {
      throw CLI::ValidationError(std::string("--set: ") + error.what());
    }
  }
}

void set_tools(const ChatCommand& command, repl::Session& session) {
  session.tools = command.tools.tools();
  session.allows_tools = command.allows_tools;
  if (!session.tools.empty()) session.dialogue.tools = shell::tools_json(session.tools);
}

void set_form(const app::AnswerForm& form, repl::Dialogue& dialogue) {
  JsonWriter json;
  switch (form.kind) {
    case app::AnswerForm::Kind::JsonSchema:
    case app::AnswerForm::Kind::JsonObject:
      json.begin_object().member("type", "json_schema").key("json_schema").begin_object();
      json.member("name", "answer").key("schema").raw(form.text).end_object().end_object();
      return dialogue.set_form("response_format", json.text());
    case app::AnswerForm::Kind::Grammar:
      return dialogue.set_form("grammar", json.value(form.text).text());
    case app::AnswerForm::Kind::Regex:
      return dialogue.set_form("guided_regex", json.value(form.text).text());
    case app::AnswerForm::Kind::Choice:
      return dialogue.set_form("guided_choice", json.value(form.choices).text());
    case app::AnswerForm::Kind::Text:
      return;
  }
}

void chat(const ChatCommand& command) {
  if (!command.url.empty() && !command.prompt_cache.empty()) {
    throw CLI::ValidationError("--prompt-cache: the server of --url keeps what it computes itself");
  }
  const LogScope log(LogLevel::Warn);
  repl::Session session;
  session.wraps = !command.no_wrap;
  session.is_verbose = command.is_verbose;
  if (!command.load_file.empty()) session.dialogue.load(command.load_file);
  set_parameters(command, session.dialogue);
  set_tools(command, session);
  if (const auto form = command.form.form()) set_form(*form, session.dialogue);
  if (!command.system.empty()) session.dialogue.system = command.system;
  if (!command.thinking.empty()) session.dialogue.thinking = command.thinking;
  terminal::Terminal terminal;
  if (terminal.is_interactive() && !command.no_history) {
    session.history = terminal::History(terminal::History::default_file());
  }
  const repl::OpenModel open = [&](const std::string& model) {
    return command.url.empty() ? open_here(command, model) : open_there(command, model);
  };
  session.opened = open(command.model);
  if (command.url.empty() && session.opened.model.name == "demo") {
    session.greeting =
        "The demo model, which knows little but children's stories. Others come from the Hub: "
        "pippin chat HuggingFaceTB/SmolLM2-135M-Instruct";
  }
  repl::Repl(terminal, session, open).run();
}

}  // namespace

bool can_chat() {
  return terminal::Terminal().is_interactive();
}

void chat_with_demo() {
  chat({});
}

CLI::App* add_chat_command(CLI::App& app) {
  auto command = std::make_shared<ChatCommand>();
  CLI::App* sub = app.add_subcommand("chat", "Talk with a model");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "",
         "What `pippin run` takes, or with --url the name of a model there; without it, the demo "
         "model, or the server's first one");
  option("--url", command->url, "URL",
         "Talk with a server: http://HOST:PORT, https://... or unix:PATH");
  option("--api-key", command->key, "KEY", "For that server; also PIPPIN_API_KEY");
  option("--system", command->system, "TEXT", "System message");
  option("--set", command->parameters, "NAME=VALUE",
         "As /set parameter: temperature, top_k, seed, num_predict ...; repeatable")
      ->allow_extra_args(false);
  option("--think", command->thinking, "LEVEL",
         "on, off, or an effort that the model's template knows");
  add_tool_options(*sub, command->tools, "after asking you");
  sub->add_flag("--allow-tools", command->allows_tools, "Run commands of --tool without asking");
  option("--load", command->load_file, "FILE", "Continue a chat saved by /save");
  option("--prompt-cache", command->prompt_cache, "FILE",
         "Save the chat's cache in FILE, for a later chat with the same beginning");
  add_load_options(*sub, command->load);
  add_template_option(*sub, command->load);
  add_draft_options(*sub, command->draft);
  add_form_options(*sub, command->form);
  option("--tokenizer", command->tokenizer, "FOLDER", "Tokenizer for a package without one");
  sub->add_flag("--no-wordwrap", command->no_wrap, "Let the terminal break lines");
  sub->add_flag("--no-history", command->no_history, "Neither read nor write the history");
  sub->add_flag("-v,--verbose", command->is_verbose, "Print speed and context after each answer");
  sub->footer(
      "At a terminal, /? lists the commands. From a pipe or a file, each line is a message and\n"
      "the answers go to stdout. The history is in $PIPPIN_HISTORY, or in\n"
      "~/.local/state/pippin/chat-history.");
  sub->callback([command] { chat(*command); });
  return sub;
}

}  // namespace pippin::cli
