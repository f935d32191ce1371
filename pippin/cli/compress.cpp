#include "pippin/cli/compress.h"

#include <chrono>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/cli/compress_options.h"
#include "pippin/cli/hub_model.h"
#include "pippin/cli/options.h"
#include "pippin/cli/package_output.h"
#include "pippin/cli/progress.h"
#include "pippin/io/json.h"
#include "pippin/mil/interface.h"
#include "pippin/mil/package.h"

namespace pippin::cli {
namespace {

struct Command {
  std::string source, output;
  CompressOptions options;
  int threads = 0;
  bool json = false;
};

// What Core ML's compiler has added says what the description says.
void drop_compiled_attributes(mil::Model& model) {
  mil::drop_flexible_shapes(model.program);
  for (mil::PipelineStage& stage : model.stages) drop_compiled_attributes(stage.model);
}

void run(const Command& command) {
  const auto recipe = recipe_of(command.options);
  if (!recipe) {
    fail(ErrorCode::InvalidArgument,
         "say how to compress: --quantize, --palettize, --prune, --lut-... or --tensor");
  }
  CompressResult result;
  {
    Progress bar("Compressing", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result =
        compress_package(resolve_model(command.source), command.output, *recipe, command.threads,
                         [&](uint64_t done, uint64_t total) { bar.update(done, total); });
  }
  if (command.json) {
    JsonWriter json;
    json.begin_object()
        .member("path", result.path.string())
        .member("bytes", result.bytes)
        .member("seconds", result.seconds);
    write_compression(json, result.compression);
    json.end_object();
    print_out(json.text() + "\n");
    return;
  }
  print_out(compression_lines(result.compression) +
            fmt::format("{}\n{}, {:.1f} s\n", result.path.string(), format_bytes(result.bytes),
                        result.seconds));
}

}  // namespace

CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output, const compress::Recipe& recipe,
                                int threads,
                                const std::function<void(uint64_t, uint64_t)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  mil::Model model = mil::read_package(source);
  drop_compiled_attributes(model);
  CompressResult result;
  result.compression = compress::compress(model, recipe, threads);
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = progress;
  mil::write_package(model, output, write);
  result.path = output;
  result.bytes = folder_bytes(output);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CLI::App* add_compress_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compress", "Quantizes, palettizes or prunes the weights of a package");
  auto values = std::make_shared<Command>();
  command->add_option("PACKAGE", values->source, "X.mlpackage, X.mlmodelc or X.mlmodel")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage; one that is there is replaced when the new one "
                   "is complete")
      ->required();
  add_compress_options(*command, values->options);
  command->add_option("--threads", values->threads, "Threads (default: one per core)")
      ->check(between(1, 1024));
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(
      "Scales and palettes are those of the least squared error. A pattern has * and ?, and has to "
      "match a weight. The error is that of the root of the mean square.");
  command->callback([values] { run(*values); });
  return command;
}

}  // namespace pippin::cli
