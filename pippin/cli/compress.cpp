#include "pippin/cli/compress.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/compress.h"
#include "pippin/app/facts/report_json.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/compress_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"

namespace pippin::cli {
namespace {

struct CompressCommand {
  std::string source, output;
  app::CompressPackageOptions options;
  bool json = false;
};

void run(const CompressCommand& command) {
  app::CompressPackageOptions options = command.options;
  app::check_compress_options(options);
  app::CompressResult result;
  {
    Progress bar("Compressing", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    options.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    result = app::compress_package(local_model(command.source, app::ModelPart::Package),
                                   command.output, options);
  }
  if (command.json) {
    print_out(app::to_json(result) + "\n");
    return;
  }
  print_out(compression_lines(result.compression) +
            fmt::format("{}\n{}, {:.1f} s\n", result.path.string(), format_bytes(result.bytes),
                        result.seconds));
}

}  // namespace

CLI::App* add_compress_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compress", "Quantize, palettize or prune the weights of a package");
  auto values = std::make_shared<CompressCommand>();
  command
      ->add_option("PACKAGE", values->source,
                   "X.mlpackage, X.mlmodelc, X.mlmodel or model.mil, or a .zip or .gz of one")
      ->required();
  command
      ->add_option(
          "-o,--output", values->output,
          "Package to write, X.mlpackage; an existing one is replaced once the new one is complete")
      ->required();
  add_compress_options(*command, values->options.compression);
  add_calibration_options(*command, values->options.compression);
  command->add_flag("--recompress", values->options.recompress,
                    "Also compress weights that are compressed already, from their present values");
  command->add_option("--min-target", values->options.min_target,
                      "Raise the package to this opset first; iOS18 (CoreML8) has all forms");
  command
      ->add_option("--threads", values->options.compression.threads,
                   "Threads (default: one per core)")
      ->check(between(1, 1024));
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(
      "Scales and palettes minimize the squared error. A pattern may contain * and ?, and must "
      "match a weight. The error shown is the root mean square.");
  command->callback([values] { run(*values); });
  return command;
}

}  // namespace pippin::cli
