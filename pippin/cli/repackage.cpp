#include "pippin/cli/repackage.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/hub_model.h"
#include "pippin/app/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/convert.h"
#include "pippin/cli/progress.h"
#include "pippin/cli/pull_display.h"
#include "pippin/io/json.h"
#include "pippin/mil/package.h"
#include "pippin/models/model_source.h"

namespace pippin::cli {
namespace {

struct RepackageCommand {
  std::string source, output;
  std::vector<std::string> functions;
  ConvertCommand model;  // another shape
  bool json = false;
};

// The family and context of the source, where the command does not say another.
void complete(const CLI::App& app, RepackageCommand& command) {
  ConvertCommand& model = command.model;
  model.source = command.source;
  model.output = command.output;
  model.json = command.json;
  const models::PackageShape shape = models::shape_of_packages(command.source);
  if (app.count("--family") == 0) model.family.family = shape.family;
  if (app.count("--context") == 0) model.build.context = shape.context;
}

// Functions that are not named leave the model. Throws NotFound for names that it does not have.
void keep_functions(mil::Model& model, const std::vector<std::string>& names) {
  for (const std::string& name : names) model.description(name);
  std::erase_if(model.functions, [&](const mil::FunctionDescription& function) {
    return std::find(names.begin(), names.end(), function.name) == names.end();
  });
  std::erase_if(model.program.functions, [&](const auto& function) {
    return std::find(names.begin(), names.end(), function.first) == names.end();
  });
  const auto is_default = [&](const std::string& name) { return name == model.default_function; };
  if (std::none_of(names.begin(), names.end(), is_default)) model.default_function = names.front();
}

std::string json_of(const RepackageResult& result) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("weights", result.weights)
      .member("bytes", result.bytes)
      .member("seconds", result.seconds)
      .end_object();
  return writer.text();
}

void run(const RepackageCommand& command) {
  RepackageResult result;
  {
    Progress bar("Repackaging", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result = repackage(local_model(command.source), command.output, command.functions,
                       [&](uint64_t done, uint64_t total) { bar.update(done, total); });
  }
  if (command.json) {
    fmt::print("{}\n", json_of(result));
    return;
  }
  fmt::print("{}\n{} of weights, {} in all, {:.1f} s\n", result.path.string(),
             format_bytes(result.weights), format_bytes(result.bytes), result.seconds);
}

}  // namespace

RepackageResult repackage(const std::filesystem::path& source, const std::filesystem::path& output,
                          const std::vector<std::string>& functions,
                          const std::function<void(uint64_t, uint64_t)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  app::check_package_output(output);
  mil::Model model = app::read_to_rewrite(source);
  if (!functions.empty()) keep_functions(model, functions);
  RepackageResult result;
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = [&](uint64_t done, uint64_t total) {
    result.weights = total;
    if (progress) progress(done, total);
  };
  mil::write_package(model, output, write);
  result.path = output;
  result.bytes = app::folder_bytes(output);
  result.seconds = seconds_since(start);
  return result;
}

CLI::App* add_repackage_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "repackage",
      "Turns a compiled model (.mlmodelc) back into a package, or a package into another shape");
  auto values = std::make_shared<RepackageCommand>();
  command
      ->add_option("SRC", values->source,
                   "X.mlmodelc, X.mlpackage or X.mlmodel; for another shape a package or a folder "
                   "of packages that Pippin made")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage, or folder of packages; one that is there is "
                   "replaced when the new one is complete")
      ->required();
  command->add_option("--function", values->functions, "Functions to keep; several (default: all)")
      ->delimiter(',');
  command->add_flag("--json", values->json, "Print the result as JSON");
  const size_t own = command->get_options().size();
  add_model_options(*command, values->model);
  command->footer(
      "Without options that say another shape, program, interface, metadata and weights stay the "
      "same; weights that nothing uses are left out.");
  command->callback([values, command, own] {
    const auto options = command->get_options();
    const bool shapes =
        std::any_of(options.begin() + static_cast<std::ptrdiff_t>(own), options.end(),
                    [](const CLI::Option* option) { return option->count() > 0; });
    if (!shapes) return run(*values);
    if (!values->functions.empty()) {
      throw CLI::ValidationError("--function keeps functions as they are; not with another shape");
    }
    complete(*command, *values);
    run_convert(values->model);
  });
  return command;
}

}  // namespace pippin::cli
