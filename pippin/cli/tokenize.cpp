#include "pippin/cli/tokenize.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/open/open_text.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/token_input.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using Ids = std::vector<int32_t>;

struct Command {
  std::string model, input;
  bool no_special = false, skip_special = false, json = false, jsonl = false;
};

Tokenizer open_tokenizer(const std::string& model) {
  return app::open_tokenizer(local_model(model, app::ModelPart::Tokenizer));
}

void write_ids(JsonWriter& writer, const Tokenizer& tokenizer, const Ids& ids, bool tokens) {
  if (!tokens) {
    writer.value(ids);
    return;
  }
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const int32_t id : ids) names.push_back(tokenizer.id_to_token(id).value_or(""));
  writer.begin_object().member("ids", ids).member("tokens", names).end_object();
}

// Calls answer(line as JSON, writer) for each line of the input and prints the writer's text.
template <typename Answer>
void answer_lines(const std::string& input, Answer answer) {
  const auto use = [&](std::string_view line, int64_t number) {
    JsonWriter writer;
    answer(Json::parse(line, fmt::format("line {}", number)), writer);
    print_out(writer.text() + "\n");
  };
  if (input == "-") return app::for_each_line(input, use);
  std::istringstream lines(input);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    check_cancel();
    use(line, number);
  }
}

std::string read_input(const std::string& input) {
  return input == "-" ? app::read_text(input) : input;
}

void tokenize(const Command& command) {
  const Tokenizer tokenizer = open_tokenizer(command.model);
  const auto ids_of = [&](std::string_view text) {
    return tokenizer.encode_fitted(text, !command.no_special);
  };
  if (command.jsonl) {
    answer_lines(command.input, [&](const Json& line, JsonWriter& writer) {
      write_ids(writer, tokenizer, ids_of(line.as_string()), command.json);
    });
    return;
  }
  const Ids ids = ids_of(read_input(command.input));
  if (command.json) {
    JsonWriter writer;
    write_ids(writer, tokenizer, ids, true);
    print_out(writer.text() + "\n");
    return;
  }
  print_out(fmt::format("{}\n", fmt::join(ids, " ")));
}

void detokenize(const Command& command) {
  const Tokenizer tokenizer = open_tokenizer(command.model);
  if (command.jsonl) {
    answer_lines(command.input, [&](const Json& line, JsonWriter& writer) {
      Ids ids;
      for (const Json& id : line.elements()) {
        ids.push_back(static_cast<int32_t>(id.as_int(0, INT32_MAX)));
      }
      writer.value(tokenizer.decode(ids, command.skip_special));
    });
    return;
  }
  print_out(tokenizer.decode(parse_ids(read_input(command.input)), command.skip_special) + "\n");
}

CLI::App* add_command(CLI::App& app, Command& command, const char* name, const char* input,
                      const char* about, const char* input_help) {
  CLI::App* sub = app.add_subcommand(name, about);
  sub->add_option("MODEL", command.model,
                  "A package, a model's folder, or a tokenizer's folder or file")
      ->type_name("")
      ->required();
  sub->add_option(input, command.input, input_help)->type_name("")->required();
  return sub;
}

}  // namespace

CLI::App* add_tokenize_command(CLI::App& app) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = add_command(app, *command, "tokenize", "TEXT", "Print the token ids of a text",
                              "The text; - is stdin");
  sub->add_flag("--no-special", command->no_special,
                "Without the special tokens at the ends of a text");
  sub->add_flag("--json", command->json, "Print ids and tokens as JSON");
  sub->add_flag("--jsonl", command->jsonl,
                "One JSON string per line in, one JSON list of ids per line out");
  sub->callback([command] { tokenize(*command); });
  return sub;
}

CLI::App* add_detokenize_command(CLI::App& app) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = add_command(app, *command, "detokenize", "IDS", "Print the text of token ids",
                              "The ids, like 1,2,3; - is stdin");
  sub->add_flag("--skip-special", command->skip_special, "Leave special tokens out");
  sub->add_flag("--jsonl", command->jsonl,
                "One JSON list of ids per line in, one JSON string per line out");
  sub->callback([command] { detokenize(*command); });
  return sub;
}

}  // namespace pippin::cli
