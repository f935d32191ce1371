#include "pippin/cli/constrain.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/answer_form.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/form_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/constrain/matcher.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct ConstrainCommand {
  FormArguments form;
  std::vector<std::string> texts;
  bool jsonl = false, generated = false, no_format = false;
};

struct Verdict {
  bool accepted = false;
  size_t at = 0;  // length of the prefix that can begin such a text
};

Verdict judge(constrain::Matcher& matcher, std::string_view text) {
  constrain::StateId state = matcher.start();
  for (size_t i = 0; i < text.size(); ++i) {
    state = matcher.step(state, static_cast<uint8_t>(text[i]));
    if (state == constrain::Matcher::kDead) return {false, i};
  }
  return {matcher.can_end(state), text.size()};
}

void print(const ConstrainCommand& command, std::string_view text, const Verdict& verdict) {
  if (command.jsonl) {
    JsonWriter json;
    json.begin_object().member("accepted", verdict.accepted);
    if (!verdict.accepted) json.member("at", verdict.at);
    print_out(json.end_object().text() + "\n");
  } else if (verdict.accepted) {
    print_out("accepted\n");
  } else if (verdict.at == text.size()) {
    print_out(fmt::format("refused: it cannot end after {} bytes\n", verdict.at));
  } else {
    print_out(fmt::format("refused at byte {}\n", verdict.at));
  }
}

// Returns the exit status.
int constrain_texts(const ConstrainCommand& command) {
  const auto form = command.form.form();
  if (!form) {
    throw CLI::ValidationError("one of --json-schema, --grammar, --regex and --choice is needed");
  }
  app::JudgeOptions options;
  options.as_generated = command.generated;
  options.format_asserts = !command.no_format;
  constrain::Matcher matcher(app::compile_grammar(*form, options));
  bool all = true;
  const auto take = [&](std::string_view text) {
    const Verdict verdict = judge(matcher, text);
    print(command, text, verdict);
    all = all && verdict.accepted;
  };
  if (command.jsonl) {
    const std::string lines = app::read_text("-");
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = std::min(lines.find('\n', begin), lines.size());
      const Json value = Json::parse(std::string_view(lines).substr(begin, end - begin), "stdin");
      take(value.is_string() ? std::string(value.as_string()) : value.dump());
      begin = end + 1;
    }
  }
  for (const std::string& text : command.texts) take(text == "-" ? app::read_text("-") : text);
  return all ? 0 : 1;
}

}  // namespace

CLI::App* add_constrain_command(CLI::App& app, int& exit_status) {
  auto command = std::make_shared<ConstrainCommand>();
  CLI::App* sub = app.add_subcommand("constrain", "Check whether texts have a form");
  sub->add_option("TEXT", command->texts,
                  "Texts to check; -: stdin; none: the form is only compiled")
      ->type_name("");
  add_form_options(*sub, command->form);
  sub->add_flag(
      "--jsonl", command->jsonl,
      "Each line of stdin is a text as a JSON string, or a JSON value; verdicts are JSON");
  sub->add_flag("--generated", command->generated,
                "Accept only what a model is allowed to write: properties in the schema's order, "
                "compact");
  sub->add_flag("--no-format", command->no_format, "\"format\" asserts nothing");
  sub->footer("The status is 0 if all texts are accepted, 1 if one is not.");
  sub->callback([command, &exit_status] { exit_status = constrain_texts(*command); });
  return sub;
}

}  // namespace pippin::cli
