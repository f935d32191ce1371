#include "pippin/cli/convert.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/calibration.h"
#include "pippin/app/hub_model.h"
#include "pippin/app/package_output.h"
#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/compress_options.h"
#include "pippin/cli/convert_family.h"
#include "pippin/cli/options.h"
#include "pippin/cli/progress.h"
#include "pippin/cli/pull_display.h"
#include "pippin/io/json.h"
#include "pippin/mil/package.h"
#include "pippin/mil/verify.h"
#include "pippin/models/model_source.h"
#include "pippin/models/registry.h"

namespace pippin::cli {
namespace {

std::string json_of(const ConvertResult& result) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("architecture", result.architecture)
      .member("context", result.context)
      .member("parameters", result.parameters)
      .member("packages", result.packages)
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

// NAME=DIR
models::NamedAdapter parse_adapter(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(fmt::format("--adapter: \"{}\" is not NAME=DIR", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void refuse_stateful_options(const ConvertCommand& command) {
  const auto refuse = [&](const char* option) {
    fail(ErrorCode::InvalidArgument, "{}: only for --family stateful, not {}", option,
         command.family.family);
  };
  if (!command.build.query_lengths.empty()) refuse("--query-lengths");
  if (command.build.prefill_length > 0) refuse("--prefill");
  if (!command.adapters.empty()) refuse("--adapter");
  if (!command.settings.calibrate.empty()) refuse("--calibrate");
}

// The model has to run before it is compressed: first the fp16 package, in a folder beside the
// output, then the one of fewer bits from it.
ConvertResult convert_calibrated(const std::string& source, const ConvertCommand& command,
                                 const models::BuildOptions& build, const compress::Recipe& recipe,
                                 const std::function<void(uint64_t, uint64_t)>& progress) {
  app::check_package_output(command.output);
  CompressSettings settings = command.settings;
  settings.progress = progress;
  // First: a text that will not do is said before the long part.
  settings.calibration_ids = app::calibration_tokens(
      settings.calibrate, models::text_folder(source), settings.calibrate_tokens);
  const PendingOutput scratch(command.output);
  std::filesystem::create_directory(scratch.path());
  const std::filesystem::path plain = scratch.path() / "plain.mlpackage";
  ConvertResult result = convert(source, plain, build, progress);
  const CompressResult compressed = compress_package(plain, command.output, recipe, settings);
  result.compression = compressed.compression;
  result.path = compressed.path;
  result.bytes = compressed.bytes;
  result.seconds += compressed.seconds;
  return result;
}

// A file is the configuration of a model without weights.
void check_source(const ConvertCommand& command) {
  const bool file = std::filesystem::is_regular_file(command.source);
  if (file && !command.random_weights) {
    fail(ErrorCode::InvalidArgument,
         "{}: a file; a model is a folder or a package (config.json alone goes with "
         "--random-weights)",
         command.source);
  }
  if (!file && command.random_weights) {
    fail(ErrorCode::InvalidArgument, "{}: --random-weights takes the path of a config.json",
         command.source);
  }
}

}  // namespace

void run_convert(const ConvertCommand& command) {
  check_source(command);
  auto recipe = wanted_recipe(command.options, command.settings);
  if (!recipe && !command.settings.calibrate.empty()) {
    fail(ErrorCode::InvalidArgument,
         "--calibrate without a way to compress: --quantize, --palettize or --mixed");
  }
  // An adapter's narrow matrices are small, and errors in them are large.
  if (recipe && !command.adapters.empty()) recipe->exempt.emplace_back("*_lora_*");
  models::BuildOptions build = command.build;
  build.fused_adapter = command.fused_adapter;
  for (const std::string& adapter : command.adapters) {
    build.adapters.push_back(parse_adapter(adapter));
  }
  const std::string source = command.random_weights ? command.source : local_model(command.source);
  ConvertResult result;
  {
    Progress bar("Converting", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    const auto update = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    FamilyOptions family = command.family;
    if (family.family == "stateful" && !command.settings.calibrate.empty()) {
      result = convert_calibrated(source, command, build, *recipe, update);
    } else if (family.family == "stateful") {
      result = convert(source, command.output, build, update, recipe);
    } else {
      refuse_stateful_options(command);
      family.context = build.context;
      family.fused_adapter = build.fused_adapter;
      result = convert_to_folder(source, command.output, family, update, recipe);
    }
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

ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      const models::BuildOptions& build,
                      const std::function<void(uint64_t, uint64_t)>& progress,
                      const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  app::check_package_output(output);
  mil::Model model = models::build(source, build);
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
  result.context = model.description(model.default_function).states.at(0).shape.at(3);
  result.bytes = app::folder_bytes(output);
  result.seconds = seconds_since(start);
  return result;
}

void add_model_options(CLI::App& command, ConvertCommand& values) {
  models::BuildOptions& build = values.build;
  command.add_option("--context", build.context,
                     "Most tokens that the package can hold (default: the model's, at most 2048)");
  command
      .add_option("--query-lengths", build.query_lengths,
                  "Tokens that one run takes, N or N,M,... (default: any number)")
      ->delimiter(',');
  command
      .add_option("--prefill", build.prefill_length,
                  "A second function, prefill, that takes N tokens at a time")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--adapter", values.adapters,
                  "NAME=DIR: a PEFT adapter as a function that shares the weights; several")
      ->take_all();
  add_family_options(command, values.family);
}

CLI::App* add_convert_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "convert",
      "Turns a Hugging Face model folder into a Core ML package, or a folder of them (fp16)");
  auto values = std::make_shared<ConvertCommand>();
  command
      ->add_option("SRC", values->source,
                   "Folder with config.json and weights (*.safetensors, *.bin or *.npz)")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage, or folder of packages; one that is there is "
                   "replaced when the new one is complete")
      ->required();
  add_model_options(*command, *values);
  command->add_option("--fuse-adapter", values->fused_adapter,
                      "PEFT adapter (LoRA) whose changes become part of the weights");
  command->add_flag("--random-weights", values->random_weights,
                    "SRC is a config.json; the weights are random, to measure its speed");
  add_compress_options(*command, values->options);
  add_calibration_options(*command, values->settings);
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer("The tokenizer's and generation's files travel inside the package or folder.");
  command->callback([values] { run_convert(*values); });
  return command;
}

}  // namespace pippin::cli
