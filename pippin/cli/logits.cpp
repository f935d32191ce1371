#include "pippin/cli/logits.h"

#include <cstring>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/logits.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/token_input.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"

namespace pippin::cli {
namespace {

struct LogitsCommand {
  std::string model, output, tokenizer;
  TokenArguments tokens;
  runtime::LoadOptions load;
  bool steps = false, json = false;
};

template <typename T>
NpyArray array_of(const std::vector<T>& values, std::vector<int64_t> shape) {
  NpyArray array;
  array.type = npy_type_of<T>();
  array.shape = std::move(shape);
  array.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

void run(const LogitsCommand& command) {
  app::ModelChoice choice{command.model, command.tokenizer, command.load, show_pulls()};
  choice.load.prediction = false;
  const app::TokenInput tokens = read_token_input(command.tokens);
  const app::Logits logits = app::compute_logits(choice, tokens, command.steps);
  const auto count = static_cast<int64_t>(logits.ids.size());
  write_npz(command.output, {{"logits", array_of(logits.values, {1, count, logits.vocabulary})},
                             {"ids", array_of(logits.ids, {1, count})}});
  if (command.json) {
    JsonWriter writer;
    writer.begin_object()
        .member("path", command.output)
        .member("tokens", count)
        .member("vocabulary", logits.vocabulary)
        .member("next_id", logits.next_id())
        .member("seconds", logits.seconds)
        .end_object();
    print_out(writer.text() + "\n");
    return;
  }
  print_out(fmt::format(
      "{}\nlogits [1, {}, {}] of {} tokens, {:.2f} s; the most likely next id is {}\n",
      command.output, count, logits.vocabulary, count, logits.seconds, logits.next_id()));
}

}  // namespace

CLI::App* add_logits_command(CLI::App& app) {
  auto command = std::make_shared<LogitsCommand>();
  CLI::App* sub = app.add_subcommand("logits", "Write the logits of a text");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "", "A package, a folder of packages or a Hugging Face folder")
      ->required();
  option("TEXT", command->tokens.words, "", "The text itself, in place of --text");
  option("--ids", command->tokens.ids, "1,2,3", "Token ids; needs no tokenizer");
  option("--text", command->tokens.text, "FILE", "Text to tokenize; - is stdin");
  option("--image", command->tokens.images, "FILE",
         "An image before the text, or at the model's placeholder in it; repeatable")
      ->allow_extra_args(false);
  option("-o,--output", command->output, "FILE.npz",
         "Where to write logits, float32 [1, tokens, vocabulary], and ids")
      ->required()
      ->check(ends_in(".npz"));
  sub->add_flag("--steps", command->steps,
                "Feed token by token through the cache instead of all at once");
  add_load_options(*sub, command->load);
  option("--tokenizer", command->tokenizer, "FOLDER", "Tokenizer for a package without one");
  sub->add_flag("--json", command->json, "Print what was written as JSON");
  sub->callback([command] { run(*command); });
  return sub;
}

}  // namespace pippin::cli
