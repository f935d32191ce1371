#include "pippin/cli/convert.h"

#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/calibration.h"
#include "pippin/app/convert.h"
#include "pippin/app/convert_family.h"
#include "pippin/app/hub_model.h"
#include "pippin/app/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/compress_options.h"
#include "pippin/cli/options.h"
#include "pippin/cli/progress.h"
#include "pippin/cli/pull_display.h"
#include "pippin/io/json.h"
#include "pippin/models/model_source.h"
#include "pippin/models/registry.h"

namespace pippin::cli {
namespace {

std::string json_of(const app::ConvertResult& result) {
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
app::ConvertResult convert_calibrated(const std::string& source, const ConvertCommand& command,
                                      const models::BuildOptions& build,
                                      const compress::Recipe& recipe,
                                      const std::function<void(uint64_t, uint64_t)>& progress) {
  app::check_package_output(command.output);
  app::CompressSettings settings = command.settings;
  settings.progress = progress;
  // First: a text that will not do is said before the long part.
  settings.calibration_ids = app::calibration_tokens(
      settings.calibrate, models::text_folder(source), settings.calibrate_tokens);
  const PendingOutput scratch(command.output);
  std::filesystem::create_directory(scratch.path());
  const std::filesystem::path plain = scratch.path() / "plain.mlpackage";
  app::ConvertResult result = app::convert(source, plain, build, progress);
  const app::CompressResult compressed =
      app::compress_package(plain, command.output, recipe, settings);
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
  auto recipe = app::wanted_recipe(command.options, command.settings);
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
  app::ConvertResult result;
  {
    Progress bar("Converting", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    const auto update = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    app::FamilyOptions family = command.family;
    if (family.family == "stateful" && !command.settings.calibrate.empty()) {
      result = convert_calibrated(source, command, build, *recipe, update);
    } else if (family.family == "stateful") {
      result = app::convert(source, command.output, build, update, recipe);
    } else {
      refuse_stateful_options(command);
      family.context = build.context;
      family.fused_adapter = build.fused_adapter;
      result = app::convert_to_folder(source, command.output, family, update, recipe);
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

void add_family_options(CLI::App& command, app::FamilyOptions& options) {
  command
      .add_option("--family", options.family,
                  "stateful: one package; anemll: embeddings, chunks with infer and prefill over "
                  "one state, head; windowed: chunks with caches as inputs and outputs")
      ->check(CLI::IsMember({"stateful", "anemll", "windowed"}))
      ->capture_default_str();
  const char* group = "Folders of packages (--family anemll, windowed)";
  command.add_option("--prefix", options.prefix, "Start of the packages' names")->group(group);
  command.add_option("--batch", options.batch, "anemll: tokens of a prefill (default: 64)")
      ->check(between(1, 4096))
      ->group(group);
  command
      .add_option("--chunks", options.chunks,
                  "anemll: chunks of layers, or auto: the fewest under --max-chunk-mb")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--max-chunk-mb", options.max_chunk_mb,
                  "anemll: most megabytes of a chunk; ios is 950, macos 2000")
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--argmax-in-model", options.argmax_in_model,
                "anemll: the head gives the best token of each of its parts, no logits")
      ->group(group);
  command.add_option("--blocks-per-chunk", options.blocks_per_chunk, "windowed: layers of a chunk")
      ->check(between(1, 10000))
      ->capture_default_str()
      ->group(group);
  command.add_option("--window", options.window, "windowed: tokens of a step")
      ->check(between(1, 4096))
      ->capture_default_str()
      ->group(group);
  command.add_option("--cache", options.cache, "windowed: tokens before the window")
      ->check(between(1, 1 << 20))
      ->capture_default_str()
      ->group(group);
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
