#include "pippin/cli/calibrate.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/calibration_corpus.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct CalibrateCommand {
  std::string model;
  app::CalibrationCorpus corpus;
  app::CalibrationOptions options;
  bool json = false, quiet = false;
};

void run(const CalibrateCommand& command) {
  app::CalibrationCorpus corpus = command.corpus;
  app::CalibrationSums sums;
  {
    Progress bar("Calibrating",
                 command.json || command.quiet ? Progress::Style::Quiet : Progress::Style::Auto,
                 stderr, "texts");
    corpus.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    sums = app::calibrate_corpus(local_model(command.model, app::ModelPart::All), corpus,
                                 command.options);
  }
  if (command.json) {
    JsonWriter json;
    json.begin_object().member("output", corpus.folder.string()).member("texts", sums.texts);
    json.member("tokens", sums.tokens).member("parts", sums.parts).end_object();
    print_out(json.text() + "\n");
    return;
  }
  if (command.quiet) return;
  print_out(
      fmt::format("{} texts, {} tokens: {}\n", sums.texts, sums.tokens, corpus.folder.string()));
}

}  // namespace

CLI::App* add_calibrate_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "calibrate", "Gather statistics of a model's inputs on many texts, for --calibrate");
  auto command = std::make_shared<CalibrateCommand>();
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "", "A Hugging Face folder, or a package of the family stateful")
      ->required();
  option("CORPUS", command->corpus.input, "FILE",
         "Texts, one on each line, or objects with \"text\" (.jsonl)")
      ->required();
  option("-o,--output", command->corpus.folder, "OUT", "Folder of the statistics")->required();
  option("--shard", command->corpus.shard, "N",
         "Texts whose sums are one file (a 16th of the corpus, at least 16)")
      ->check(between(1));
  option("--window", command->options.window, "N", "Tokens of a text that are read at once (512)")
      ->check(between(1));
  option("-t,--threads", command->options.threads, "N", "Threads (default: one per core)")
      ->check(between(1, 1024));
  sub->add_flag("--json", command->json, "Print a summary as JSON");
  sub->add_flag("-q,--quiet", command->quiet, "Print nothing");
  sub->footer(
      "`pippin convert` and `pippin compress` take OUT as --calibrate. Processes with the same\n"
      "--output share the work; after a crash or Ctrl-C, the same command goes on.");
  sub->callback([command] { run(*command); });
  return sub;
}

}  // namespace pippin::cli
