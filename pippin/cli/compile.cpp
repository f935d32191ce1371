#include "pippin/cli/compile.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/compile.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct CompileCommand {
  std::string source, output;
  bool json = false;
};

void run(const CompileCommand& command) {
  app::PackageOutput result;
  {
    Progress bar("Compiling", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result =
        app::compile_model(local_model(command.source, app::ModelPart::Package), command.output,
                           [&](uint64_t done, uint64_t total) { bar.update(done, total); });
  }
  if (command.json) {
    JsonWriter json;
    json.begin_object().member("path", result.path.string()).member("bytes", result.bytes);
    json.member("seconds", result.seconds).end_object();
    fmt::print("{}\n", json.text());
    return;
  }
  fmt::print("{}\n{} in all, {:.1f} s\n", result.path.string(), format_bytes(result.bytes),
             result.seconds);
}

}  // namespace

CLI::App* add_compile_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compile", "Turn a package into a compiled model (.mlmodelc), as Core ML's compiler does");
  auto values = std::make_shared<CompileCommand>();
  command
      ->add_option("MODEL", values->source,
                   "X.mlpackage, X.mlmodelc, X.mlmodel or model.mil, or a .zip or .gz of one")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Compiled model to write, X.mlmodelc; an existing one is replaced once the new "
                   "one is complete")
      ->required();
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(
      "The weight files of a package are shared with it, not copied, where the disk allows.");
  command->callback([values] { run(*values); });
  return command;
}

}  // namespace pippin::cli
