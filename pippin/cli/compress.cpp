#include "pippin/cli/compress.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/calibration.h"
#include "pippin/app/hub_model.h"
#include "pippin/app/mixed.h"
#include "pippin/app/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/compress_options.h"
#include "pippin/cli/options.h"
#include "pippin/cli/progress.h"
#include "pippin/cli/pull_display.h"
#include "pippin/generate/package_family.h"
#include "pippin/io/json.h"
#include "pippin/mil/package.h"
#include "pippin/mil/verify.h"

namespace pippin::cli {
namespace {

struct CompressCommand {
  std::string source, output;
  CompressOptions options;
  CompressSettings settings;
  bool recompress = false;
  bool json = false;
};

constexpr ptrdiff_t kMixedTokens = 512;  // that every weight's cost is measured on

std::optional<mil::Opset> opset_of(std::string_view name) {
  using mil::Opset;
  static constexpr std::pair<std::string_view, Opset> kSystems[] = {{"iOS15", Opset::CoreML5},
                                                                    {"iOS16", Opset::CoreML6},
                                                                    {"iOS17", Opset::CoreML7},
                                                                    {"iOS18", Opset::CoreML8},
                                                                    {"iOS26", Opset::CoreML9}};
  for (const auto& [system, opset] : kSystems) {
    if (system == name) return opset;
  }
  return mil::parse_opset(name);
}

// Programs of an earlier opset as ones of `target`, where their operations are the same there.
void raise_opset(mil::Model& model, std::string_view name) {
  const auto target = opset_of(name);
  if (!target) {
    fail(ErrorCode::InvalidArgument,
         "--min-target {}: not one of iOS15, iOS16, iOS17, iOS18, iOS26, CoreML5 to CoreML9", name);
  }
  for (mil::PipelineStage& stage : model.stages) raise_opset(stage.model, name);
  for (auto& [function_name, function] : model.program.functions) {
    if (function->opset_version() >= *target) continue;
    auto block = function->specializations.extract(function->opset);
    function->opset = mil::to_string(*target);
    block.key() = function->opset;
    function->specializations.clear();
    function->specializations.insert(std::move(block));
    model.specification_version =
        std::max(model.specification_version, mil::specification_version(*target));
  }
  with_context(fmt::format("--min-target {}", name), [&] { mil::verify(model.program); });
}

std::shared_ptr<compress::InputStatistics> statistics_of(const std::filesystem::path& source,
                                                         std::vector<int32_t> ids, int threads) {
  app::CalibrationOptions options;
  options.threads = threads;
  return app::calibrate(mil::read_package(source), std::move(ids), options);
}

}  // namespace

std::optional<compress::Recipe> wanted_recipe(const CompressOptions& options,
                                              const CompressSettings& settings) {
  if (settings.mixed == 0) return recipe_of(options);
  if (!options.quantize.empty() || options.palettize != 0 || !options.tensors.empty() ||
      options.prune > 0) {
    fail(ErrorCode::InvalidArgument,
         "--mixed chooses palettes itself: no --quantize, --palettize, --prune or --tensor");
  }
  if (!(settings.mixed >= 2 && settings.mixed <= 8)) {
    fail(ErrorCode::InvalidArgument, "--mixed {:g}: palettes have 2 to 8 bits", settings.mixed);
  }
  if (settings.calibrate.empty()) {
    fail(ErrorCode::InvalidArgument, "--mixed needs a text to measure on: --calibrate FILE");
  }
  compress::Recipe recipe;
  recipe.only = options.only;
  recipe.except = options.except;
  recipe.min_elements = options.min_elements;
  return recipe;
}

namespace {

void run(const CompressCommand& command) {
  auto recipe = wanted_recipe(command.options, command.settings);
  if (recipe) recipe->recompress = command.recompress;
  if (!recipe) {
    fail(ErrorCode::InvalidArgument,
         "say how to compress: --quantize, --palettize, --prune, --mixed, --lut-... or --tensor");
  }
  CompressResult result;
  {
    Progress bar("Compressing", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    CompressSettings settings = command.settings;
    settings.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    result = compress_package(local_model(command.source), command.output, *recipe, settings);
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
                                const CompressSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  app::check_package_output(output);
  mil::Model model = app::read_to_rewrite(source);
  CompressResult result;
  if (!settings.min_target.empty()) raise_opset(model, settings.min_target);
  std::shared_ptr<compress::InputStatistics> statistics;
  compress::Recipe chosen = recipe;
  if (!settings.calibrate.empty()) {
    std::vector<int32_t> ids = settings.calibration_ids;
    if (ids.empty()) {
      ids = app::calibration_tokens(settings.calibrate,
                                    generate::find_packages(source).tokenizer_folder(),
                                    settings.calibrate_tokens);
    }
    if (settings.mixed > 0) {
      app::MixedOptions options;
      options.bits = settings.mixed;
      options.group = settings.mixed_group;
      options.threads = settings.threads;
      const std::vector<int32_t> some(
          ids.begin(), ids.begin() + std::min<ptrdiff_t>(ids.end() - ids.begin(), kMixedTokens));
      chosen = app::mixed_recipe(source, recipe, some, options);
    }
    statistics = statistics_of(source, ids, settings.threads);
  }
  result.compression = compress::compress(model, chosen, settings.threads, statistics);
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = settings.progress;
  mil::write_package(model, output, write);
  result.path = output;
  result.bytes = app::folder_bytes(output);
  result.seconds = seconds_since(start);
  return result;
}

void add_calibration_options(CLI::App& command, CompressSettings& settings) {
  command.add_option(
      "--calibrate", settings.calibrate,
      "Text that the model reads first, to quantize with error feedback (GPTQ); - is stdin");
  command
      .add_option("--calibrate-tokens", settings.calibrate_tokens,
                  "How many tokens of it (default: 4096)")
      ->check(between(app::kMinCalibrationTokens));
  command.add_option("--mixed", settings.mixed,
                     "Palettes of 2 to 8 bits, so many on average, where the text shows that they "
                     "matter");
}

CLI::App* add_compress_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compress", "Quantizes, palettizes or prunes the weights of a package");
  auto values = std::make_shared<CompressCommand>();
  command->add_option("PACKAGE", values->source, "X.mlpackage, X.mlmodelc or X.mlmodel")
      ->required();
  command
      ->add_option("-o,--output", values->output,
                   "Package to write, X.mlpackage; one that is there is replaced when the new one "
                   "is complete")
      ->required();
  add_compress_options(*command, values->options);
  add_calibration_options(*command, values->settings);
  command->add_flag("--recompress", values->recompress,
                    "Weights that are compressed already, too, from the values they have now");
  command->add_option("--min-target", values->settings.min_target,
                      "Raise the package to this opset first; iOS18 (CoreML8) has all forms");
  command->add_option("--threads", values->settings.threads, "Threads (default: one per core)")
      ->check(between(1, 1024));
  command->add_flag("--json", values->json, "Print the result as JSON");
  command->footer(
      "Scales and palettes are those of the least squared error. A pattern has * and ?, and has to "
      "match a weight. The error is that of the root of the mean square.");
  command->callback([values] { run(*values); });
  return command;
}

}  // namespace pippin::cli
