#include "pippin/cli/convert.h"

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/device_presets.h"
#include "pippin/app/facts/report_json.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/compress_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"

namespace pippin::cli {
namespace {

struct ConvertCommand {
  std::string source, output;
  app::ConvertArguments arguments;
  std::string device;
  bool json = false;
};

// "1.2 B", "936 k": as on model cards.
std::string format_count(int64_t count) {
  const auto number = static_cast<double>(count);
  if (number >= 1e9) return fmt::format("{:.2f} B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f} M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.0f} k", number / 1e3);
  return fmt::format("{}", count);
}

constexpr const char* kCompression = "Compression";

// Applies the preset's options that the command line does not set; its compression only if the
// command line has none.
void apply_preset(CLI::App& command, const std::string& device) {
  const auto options = command.get_options();
  const bool compresses = std::any_of(options.begin(), options.end(), [](const CLI::Option* one) {
    return one->count() > 0 && one->get_group() == kCompression;
  });
  for (const app::PresetOption& one : app::find_device_preset(device).options) {
    CLI::Option& option = *command.get_option(std::string(one.name));
    if (option.count() > 0 || (compresses && option.get_group() == kCompression)) continue;
    option.add_result(std::string(one.value));
    option.run_callback();
  }
}

std::string preset_names() {
  std::string names;
  for (const app::DevicePreset& preset : app::device_presets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  }
  return names;
}

std::string preset_lines() {
  std::string lines = "--device NAME stands for these options, where they are not given:\n";
  for (const app::DevicePreset& preset : app::device_presets()) {
    lines += fmt::format("  {:<10}", preset.name);
    for (const app::PresetOption& one : preset.options) {
      lines += fmt::format(" {} {}", one.name, one.value);
    }
    lines += "\n";
  }
  return lines;
}

}  // namespace

void run_convert(const std::string& source, const std::string& output, app::ConvertOptions options,
                 bool json) {
  app::check_convert_options(source, options);
  const std::string local = options.random_weights ? source : local_model(source);
  app::ConvertResult result;
  {
    Progress bar("Converting", json ? Progress::Style::Quiet : Progress::Style::Auto);
    options.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    result = app::convert(local, output, options);
  }
  if (json) {
    fmt::print("{}\n", app::to_json(result));
    return;
  }
  if (result.compression) print_out(compression_lines(*result.compression));
  if (const auto& packed = result.packed; packed.matrices > 0) {
    fmt::print(
        "{} matrices stay packed; fp16 in their forms changes them by {:.1e} (most {:.1e}, {})\n",
        packed.matrices, packed.error, packed.largest, packed.worst);
  }
  const std::string context = result.context > 0 ? fmt::format(", context {}", result.context) : "";
  fmt::print("{}\n{} parameters{}, {}, {:.1f} s\n", result.path.string(),
             format_count(result.parameters), context, format_bytes(result.bytes), result.seconds);
}

void add_family_options(CLI::App& command, app::ConvertArguments& arguments) {
  app::ConvertOptions& options = arguments.options;
  command
      .add_option("--family", options.family,
                  "stateful: one package (of an embedding model or a cross-encoder: encoder), or, "
                  "with a vision tower and a folder OUT, those of both; "
                  "encoder: one package that embeds or scores texts; anemll: embeddings, chunks "
                  "with infer and prefill over one state, head; windowed: chunks with caches as "
                  "inputs and outputs; whisperkit: the packages of a Whisper model")
      ->check(CLI::IsMember({"stateful", "encoder", "anemll", "windowed", "whisperkit"}))
      ->capture_default_str();
  const char* group = "Folders of packages (--family anemll, windowed)";
  command
      .add_option("--norms", options.norms,
                  "RMS norms as plain squares, or safe from overflow in fp16 (default: stateful "
                  "plain, the others safe)")
      ->check(CLI::IsMember({"plain", "safe"}));
  command.add_option("--prefix", options.prefix, "Start of the packages' names")->group(group);
  command.add_option("--batch", options.batch, "anemll: tokens per prefill (default: 64)")
      ->check(between(1, 4096))
      ->group(group);
  command
      .add_option("--chunks", arguments.chunks,
                  "anemll: chunks of layers, or auto: the fewest under --max-chunk-mb")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--max-chunk-mb", arguments.max_chunk_mb,
                  "anemll: maximum megabytes of a chunk; ios is 950, macos 2000")
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--argmax-in-model", options.argmax_in_model,
                "anemll: the head returns the best token of each of its parts instead of logits")
      ->group(group);
  command.add_option("--blocks-per-chunk", options.blocks_per_chunk, "windowed: layers per chunk")
      ->check(between(1, 10000))
      ->capture_default_str()
      ->group(group);
  command.add_option("--window", options.window, "windowed: tokens per step")
      ->check(between(1, 4096))
      ->capture_default_str()
      ->group(group);
  command.add_option("--cache", options.cache, "windowed: tokens before the window")
      ->check(between(1, 1 << 20))
      ->capture_default_str()
      ->group(group);
}

void add_model_options(CLI::App& command, app::ConvertArguments& arguments) {
  app::ConvertOptions& options = arguments.options;
  command.add_option("--context", options.context,
                     "Context of the package in tokens (default: the model's, at most 2048)");
  command
      .add_option("--query-lengths", options.query_lengths,
                  "Number of tokens per run, N or N,M,... (default: any)")
      ->delimiter(',');
  command
      .add_option("--prefill", options.prefill_length,
                  "A second function, prefill, that takes N tokens at a time")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--adapter", arguments.adapters,
                  "NAME=DIR: a PEFT adapter as a function that shares the weights; repeatable")
      ->take_all();
  add_family_options(command, arguments);
}

CLI::App* add_convert_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "convert",
      "Turn a Hugging Face model folder into a Core ML package, or a folder of them (fp16)");
  auto values = std::make_shared<ConvertCommand>();
  command
      ->add_option(
          "SRC", values->source,
          "Folder with config.json and weights (*.safetensors, *.bin or *.npz), or a .gguf")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage, or folder of packages; an existing one is "
                   "replaced once the new one is complete")
      ->required();
  add_model_options(*command, values->arguments);
  command
      ->add_option("--device", values->device,
                   "The options that suit a device: " + preset_names() + " (see below)")
      ->type_name("NAME");
  command->add_option("--fuse-adapter", values->arguments.options.fused_adapter,
                      "PEFT adapter (LoRA) to merge into the weights");
  command->add_flag("--random-weights", values->arguments.options.random_weights,
                    "SRC is a config.json; the weights are random, for measuring speed");
  command
      ->add_option("--image-size", values->arguments.image_size,
                   "Size of the images that the vision tower's package takes, for towers that take "
                   "any (OUT is a folder)")
      ->type_name("HEIGHTxWIDTH");
  command
      ->add_option("--mmproj", values->arguments.options.mmproj,
                   "The vision tower of a GGUF as SRC, mmproj-*.gguf (OUT is a folder)")
      ->type_name("FILE");
  command->add_flag("--compress-vision", values->arguments.options.compress_vision,
                    "Compress the vision tower, too (OUT is a folder)");
  add_compress_options(*command, values->arguments.options.compression);
  add_calibration_options(*command, values->arguments.options.compression);
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(preset_lines() +
                  "The files of the tokenizer and of generation go into the package or folder.");
  command->callback([values, command] {
    if (!values->device.empty()) apply_preset(*command, values->device);
    run_convert(values->source, values->output, app::options_of(values->arguments), values->json);
  });
  return command;
}

}  // namespace pippin::cli
