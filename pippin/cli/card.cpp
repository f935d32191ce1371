#include "pippin/cli/card.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/card/card.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/version.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct CardCommand {
  std::string folder, output, base_card, license;
  std::vector<std::string> agreements, speeds;
  app::CardOptions options;
};

// FILE, or MODEL=FILE: the model is that of a folder with one if it is not named.
app::CardReport read_report(const std::string& argument, const std::string& only) {
  const size_t equals = argument.find('=');
  const bool is_file = equals == std::string::npos || fs::exists(argument);
  if (is_file && only.empty()) {
    fail(ErrorCode::InvalidArgument, "{}: there are several models; write MODEL={}", argument,
         argument);
  }
  const fs::path file = is_file ? argument : argument.substr(equals + 1);
  std::string model = is_file ? only : argument.substr(0, equals);
  if (model == ".") model.clear();
  Json report = Json::load(file);
  if (!report.has("date")) {
    fail(ErrorCode::InvalidFile, "{}: not a dated report of pippin verify or pippin bench --json",
         file.string());
  }
  return {std::move(model), std::move(report)};
}

void run_card(const CardCommand& command) {
  app::CardOptions options = command.options;
  const std::string version = version_text();
  options.version = version.substr(0, version.find('\n'));
  if (!command.base_card.empty()) options.carried = app::read_card_metadata(command.base_card);
  if (!command.license.empty()) {
    options.carried.license = command.license;
    options.carried.license_name.clear();
    options.carried.license_link.clear();
  }
  if (options.carried.license.empty()) {
    std::fputs("pippin: the card has no license: --license ID, or --base-card with one\n", stderr);
  }
  // "." stands for the folder itself as its only model.
  std::string only;
  if (!command.agreements.empty() || !command.speeds.empty()) {
    const auto models = app::find_card_models(command.folder);
    if (models.size() == 1) only = models.front().name.empty() ? "." : models.front().name;
  }
  for (const std::string& one : command.agreements) {
    options.agreements.push_back(read_report(one, only));
  }
  for (const std::string& one : command.speeds) options.speeds.push_back(read_report(one, only));
  const std::string text = app::write_card(command.folder, options);
  if (command.output.empty()) return print_out(text);
  write_file(command.output, text);
}

}  // namespace

CLI::App* add_card_command(CLI::App& app) {
  auto command = std::make_shared<CardCommand>();
  app::CardOptions& options = command->options;
  CLI::App* sub = app.add_subcommand("card", "Write the model card of packages: README.md");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("SRC", command->folder, "", "A package, or a folder with one model or several")
      ->required();
  option("-o,--output", command->output, "FILE", "Write it there instead of to stdout");
  option("--repo", options.repo, "ORG/NAME", "The repository, for the commands in the card");
  option("--base", options.base, "ORG/NAME",
         "The base model (default: the one that the packages name)");
  option("--base-card", command->base_card, "README.md",
         "The base model's card: its license, languages and task are carried over");
  option("--license", command->license, "ID", "The license, instead of the base model's");
  option("--title", options.title, "TEXT", "The title (default: the repository's name)");
  option("--verify", command->agreements, "[MODEL=]FILE",
         "The output of pippin verify --json, for that model; repeatable")
      ->allow_extra_args(false);
  option("--bench", command->speeds, "[MODEL=]FILE",
         "The output of pippin bench --json; repeatable")
      ->allow_extra_args(false);
  sub->footer(
      "Numbers in the card are sizes of files, or measured: those of --verify and --bench.\n"
      "MODEL is the name of a package without its ending, or of a folder of packages.");
  sub->callback([command] { run_card(*command); });
  return sub;
}

}  // namespace pippin::cli
