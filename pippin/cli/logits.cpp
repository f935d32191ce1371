#include "pippin/cli/logits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/text_input.h"
#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/cli/options.h"
#include "pippin/cli/pull_display.h"
#include "pippin/cli/token_input.h"
#include "pippin/generate/sequence.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"

namespace pippin::cli {
namespace {

struct LogitsCommand {
  std::string model, output, tokenizer;
  TokenInput tokens;
  generate::LoadOptions load;
  bool steps = false, json = false;
};

std::vector<float> logits_of(generate::Sequence& sequence, const std::vector<int32_t>& ids,
                             bool steps) {
  if (!steps) return sequence.all_logits(ids);
  std::vector<float> logits;
  for (const int32_t id : ids) {
    check_cancel();
    const std::span<const float> row = sequence.decode(id);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

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
  check_token_input(command.tokens);
  const app::ModelChoice choice{command.model, command.tokenizer, command.load, show_pulls()};
  std::vector<int32_t> ids;
  generate::RunnableModel model;
  if (command.tokens.text.empty()) {
    ids = given_ids(command.tokens);
    model = app::open_runnable(choice);
  } else {
    const std::string text = app::read_text(command.tokens.text);
    generate::LoadedModel loaded = app::open_model(choice);
    ids = loaded.tokenizer.encode(text);
    model = std::move(loaded);
  }
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "there is no token to give logits for");
  if (model.model->capabilities().greedy_only) {
    fail(ErrorCode::Unsupported,
         "{}: this model chooses its likeliest token itself and has no logits to give",
         command.model);
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<float> logits = logits_of(*model.model->new_sequence(), ids, command.steps);
  const double seconds = seconds_since(start);
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t vocabulary = model.model->vocab_size();
  write_npz(command.output, {{"logits", array_of(logits, {1, count, vocabulary})},
                             {"ids", array_of(ids, {1, count})}});
  const auto last = logits.end() - vocabulary;
  const int64_t next = std::max_element(last, logits.end()) - last;
  if (command.json) {
    JsonWriter writer;
    writer.begin_object()
        .member("path", command.output)
        .member("tokens", count)
        .member("vocabulary", vocabulary)
        .member("next_id", next)
        .member("seconds", seconds)
        .end_object();
    print_out(writer.text() + "\n");
    return;
  }
  print_out(
      fmt::format("{}\nlogits [1, {}, {}] of {} tokens, {:.2f} s; the likeliest next id is {}\n",
                  command.output, count, vocabulary, count, seconds, next));
}

}  // namespace

CLI::App* add_logits_command(CLI::App& app) {
  auto command = std::make_shared<LogitsCommand>();
  CLI::App* sub = app.add_subcommand("logits", "Write the logits that a model gives for a text");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "", "A package, a folder of packages or a Hugging Face folder")
      ->required();
  option("--ids", command->tokens.ids, "1,2,3", "The tokens, by their ids; needs no tokenizer");
  option("--text", command->tokens.text, "FILE",
         "A text, split by the model's tokenizer; - is stdin");
  option("-o,--output", command->output, "FILE.npz",
         "Gets logits, float32 [1, tokens, vocabulary], and ids")
      ->required();
  sub->add_flag("--steps", command->steps, "Token by token through the cache, not all at once");
  add_load_options(*sub, command->load);
  option("--tokenizer", command->tokenizer, "FOLDER", "For a package that has no tokenizer inside");
  sub->add_flag("--json", command->json, "Print what was written as JSON");
  sub->callback([command] { run(*command); });
  return sub;
}

}  // namespace pippin::cli
