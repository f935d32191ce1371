#include "pippin/cli/convert.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/cancel.h"
#include "pippin/base/text.h"
#include "pippin/cli/compress_options.h"
#include "pippin/cli/hub_model.h"
#include "pippin/cli/options.h"
#include "pippin/cli/package_output.h"
#include "pippin/cli/progress.h"
#include "pippin/io/json.h"
#include "pippin/mil/package.h"
#include "pippin/mil/verify.h"
#include "pippin/models/registry.h"

namespace pippin::cli {
namespace {

struct ConvertCommand {
  std::string source, output;
  int64_t context = 0;
  CompressOptions options;
  bool json = false;
};

std::string json_of(const ConvertResult& result) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("architecture", result.architecture)
      .member("context", result.context)
      .member("parameters", result.parameters)
      .member("bytes", result.bytes)
      .member("seconds", result.seconds);
  if (result.compression) write_compression(writer, *result.compression);
  writer.end_object();
  return writer.text();
}

// "1.2 B", "936 k": as model cards count.
std::string format_count(int64_t count) {
  const auto number = static_cast<double>(count);
  if (number >= 1e9) return fmt::format("{:.2f} B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f} M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.0f} k", number / 1e3);
  return fmt::format("{}", count);
}

void run_convert(const ConvertCommand& command) {
  const auto recipe = recipe_of(command.options);
  const std::string source = resolve_model(command.source);
  ConvertResult result;
  {
    Progress bar("Converting", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    result = convert(
        source, command.output, command.context,
        [&](uint64_t done, uint64_t total) { bar.update(done, total); }, recipe);
  }
  if (command.json) {
    fmt::print("{}\n", json_of(result));
    return;
  }
  if (result.compression) print_out(compression_lines(*result.compression));
  fmt::print("{}\n{} parameters, context {}, {}, {:.1f} s\n", result.path.string(),
             format_count(result.parameters), result.context, format_bytes(result.bytes),
             result.seconds);
}

}  // namespace

ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      int64_t context, const std::function<void(uint64_t, uint64_t)>& progress,
                      const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  models::BuildOptions options;
  options.context = context;
  mil::Model model = models::build(source, options);
  mil::verify(model.program);
  check_cancel();
  ConvertResult result;
  result.parameters = models::num_parameters(model);
  if (recipe) result.compression = compress::compress(model, *recipe);

  mil::WriteOptions write;
  write.extra_files = models::package_files(source);
  write.progress = progress;
  mil::write_package(model, output, write);

  result.path = output;
  result.architecture = model.metadata.user_defined.at("co.huggingface.exporters.architecture");
  result.context = model.description("main").states.at(0).shape.at(3);
  result.bytes = folder_bytes(output);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CLI::App* add_convert_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "convert", "Turns a Hugging Face model folder into a Core ML package (fp16, stateful)");
  auto values = std::make_shared<ConvertCommand>();
  command
      ->add_option("SRC", values->source,
                   "Folder with config.json and weights (*.safetensors, *.bin or *.npz)")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage; one that is there is replaced when the new one "
                   "is complete")
      ->required();
  command->add_option("--context", values->context,
                      "Most tokens that the package can hold (default: the model's, at most 2048)");
  add_compress_options(*command, values->options);
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer("The tokenizer's and generation's files travel inside the package.");
  command->callback([values] { run_convert(*values); });
  return command;
}

}  // namespace pippin::cli
