#include "pippin/cli/repackage.h"

#include <chrono>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/cli/hub_model.h"
#include "pippin/cli/package_output.h"
#include "pippin/cli/progress.h"
#include "pippin/io/json.h"
#include "pippin/mil/interface.h"
#include "pippin/mil/package.h"

namespace pippin::cli {
namespace {

struct Command {
  std::string source, output;
  bool json = false;
};

// What Core ML's compiler has added says what the description says.
void drop_compiled_attributes(mil::Model& model) {
  mil::drop_flexible_shapes(model.program);
  for (mil::PipelineStage& stage : model.stages) drop_compiled_attributes(stage.model);
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

void run(const Command& command) {
  RepackageResult result;
  {
    Progress bar("Repackaging", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result = repackage(resolve_model(command.source), command.output,
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
                          const std::function<void(uint64_t, uint64_t)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  mil::Model model = mil::read_package(source);
  drop_compiled_attributes(model);
  RepackageResult result;
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = [&](uint64_t done, uint64_t total) {
    result.weights = total;
    if (progress) progress(done, total);
  };
  mil::write_package(model, output, write);
  result.path = output;
  result.bytes = folder_bytes(output);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CLI::App* add_repackage_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "repackage", "Turns a compiled model (.mlmodelc) back into a package, or rewrites a package");
  auto values = std::make_shared<Command>();
  command->add_option("SRC", values->source, "X.mlmodelc, X.mlpackage or X.mlmodel")->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage; one that is there is replaced when the new one "
                   "is complete")
      ->required();
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(
      "Program, interface, metadata and weights stay the same; weights that nothing "
      "uses are left out.");
  command->callback([values] { run(*values); });
  return command;
}

}  // namespace pippin::cli
