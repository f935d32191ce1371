#include "pippin/cli/release/release.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/release/recipe.h"
#include "pippin/cli/release/release_report.h"
#include "pippin/cli/release/release_run.h"
#include "pippin/cli/version.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct ReleaseCommand {
  std::string recipe, report, markdown;
  bool no_push = false, json = false;
};

int run_release_command(const CLI::App& app, const ReleaseCommand& command) {
  const HasOption has_option = [&](std::string_view name, const std::string& option) {
    return app.get_subcommand(std::string(name))->get_option_no_throw(option) != nullptr;
  };
  const Recipe recipe = read_recipe(command.recipe, has_option);
  const auto absolute = [](const std::string& path) {
    return path.empty() ? fs::path() : fs::absolute(path);
  };
  const fs::path report_file = absolute(command.report), markdown_file = absolute(command.markdown);
  // Paths in a recipe are relative to it.
  fs::current_path(recipe.file.parent_path());
  ReleaseOptions options;
  options.no_push = command.no_push;
  const std::string version = version_text();
  options.version = version.substr(0, version.find('\n'));
  const ReleaseReport report = run_release(recipe, options);
  if (!report_file.empty()) write_file(report_file, release_json(report));
  if (!markdown_file.empty()) write_file(markdown_file, release_markdown(report));
  print_out(command.json ? release_json(report) : release_markdown(report));
  for (const GateFailure& failure : report.all_failures()) {
    std::fprintf(stderr, "pippin: %s\n", failure.line.c_str());
  }
  return static_cast<int>(report.status());
}

}  // namespace

CLI::App* add_release_command(CLI::App& app, int& exit_status) {
  auto command = std::make_shared<ReleaseCommand>();
  CLI::App* sub = app.add_subcommand(
      "release", "Convert, verify, examine, measure and publish variants of a model by a recipe");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("RECIPE", command->recipe, "", "recipe.yaml: the source, the variants, the limits")
      ->required();
  sub->add_flag("--no-push", command->no_push, "Do everything but push");
  option("--report", command->report, "FILE.json", "Write the report there, too");
  option("--markdown", command->markdown, "FILE.md", "Write a summary there, too");
  sub->add_flag("--json", command->json, "Print the report as JSON instead of the summary");
  sub->footer(
      "Keys of a recipe are options of pippin convert, verify, doctor, bench, card and push\n"
      "(docs/release.md). Steps of an earlier run with the same inputs are not run again.\n"
      "Exit status: 0 all passed, 1 a step failed, 6 a limit of verify, 7 a finding of doctor,\n"
      "8 the limit of bench; then nothing is pushed.");
  sub->callback(
      [command, &app, &exit_status] { exit_status = run_release_command(app, *command); });
  return sub;
}

}  // namespace pippin::cli
