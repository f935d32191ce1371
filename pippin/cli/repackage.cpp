#include "pippin/cli/repackage.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/repackage.h"
#include "pippin/base/text.h"
#include "pippin/cli/convert.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/doctor/fix.h"
#include "pippin/io/json.h"
#include "pippin/models/model_source.h"

namespace pippin::cli {
namespace {

struct RepackageCommand {
  std::string source, output;
  std::vector<std::string> functions, fixes;
  app::ConvertArguments model;  // with another shape
  bool json = false;
};

// The options for converting a source again with another shape: its family and context, unless the
// command sets others.
app::ConvertOptions reshaped(const CLI::App& app, const RepackageCommand& command) {
  app::ConvertArguments model = command.model;
  const models::PackageShape shape = models::shape_of_packages(command.source);
  if (app.count("--family") == 0) model.options.family = shape.family;
  if (app.count("--context") == 0) model.options.context = shape.context;
  return app::options_of(model);
}

std::string json_of(const app::RepackageResult& result, const std::vector<std::string>& fixed) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("weights", result.weights)
      .member("bytes", result.bytes)
      .member("seconds", result.seconds)
      .member("fixed", fixed)
      .end_object();
  return writer.text();
}

void run(const RepackageCommand& command) {
  app::RepackageResult result;
  std::vector<std::string> fixed;
  const auto change = [&](mil::Model& model) {
    const std::filesystem::path name = std::filesystem::path(command.source).lexically_normal();
    if (!command.fixes.empty()) fixed = doctor::fix(model, command.fixes, name.stem().string());
  };
  {
    Progress bar("Repackaging", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result = app::repackage(
        local_model(command.source, app::ModelPart::Package), command.output, command.functions,
        [&](uint64_t done, uint64_t total) { bar.update(done, total); }, change);
  }
  if (command.json) {
    fmt::print("{}\n", json_of(result, fixed));
    return;
  }
  for (const std::string& line : fixed) fmt::print("{}\n", line);
  fmt::print("{}\n{} of weights, {} in all, {:.1f} s\n", result.path.string(),
             format_bytes(result.weights), format_bytes(result.bytes), result.seconds);
}

}  // namespace

CLI::App* add_repackage_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "repackage",
      "Turn a compiled model (.mlmodelc) back into a package, or change the shape of a package");
  auto values = std::make_shared<RepackageCommand>();
  command
      ->add_option("SRC", values->source,
                   "X.mlmodelc, X.mlpackage or X.mlmodel; for another shape a package or a folder "
                   "of packages that Pippin made")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage, or folder of packages; an existing one is "
                   "replaced once the new one is complete")
      ->required();
  command
      ->add_option("--function", values->functions, "Functions to keep; repeatable (default: all)")
      ->delimiter(',');
  command
      ->add_option("--fix", values->fixes,
                   "Fix what pippin doctor found: a rule, or all; repeatable")
      ->type_name("RULE")
      ->delimiter(',');
  command->add_flag("--json", values->json, "Print the result as JSON");
  const size_t own = command->get_options().size();
  add_model_options(*command, values->model);
  command->footer(
      "Without options that change the shape, program, interface, metadata and weights stay the "
      "same; unused weights are left out.");
  command->callback([values, command, own] {
    const auto options = command->get_options();
    const bool shapes =
        std::any_of(options.begin() + static_cast<std::ptrdiff_t>(own), options.end(),
                    [](const CLI::Option* option) { return option->count() > 0; });
    if (!shapes) return run(*values);
    if (!values->functions.empty() || !values->fixes.empty()) {
      throw CLI::ValidationError(
          "--function and --fix keep the shape as it is; not with another shape");
    }
    run_convert(values->source, values->output, reshaped(*command, *values), values->json);
  });
  return command;
}

}  // namespace pippin::cli
