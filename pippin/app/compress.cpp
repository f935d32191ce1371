#include "pippin/app/compress.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "pippin/app/calibration.h"
#include "pippin/app/mixed.h"
#include "pippin/app/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/generate/package_family.h"
#include "pippin/mil/package.h"
#include "pippin/mil/verify.h"

namespace pippin::app {
namespace {

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
  CalibrationOptions options;
  options.threads = threads;
  return calibrate(mil::read_package(source), std::move(ids), options);
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

CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output, const compress::Recipe& recipe,
                                const CompressSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  mil::Model model = read_to_rewrite(source);
  CompressResult result;
  if (!settings.min_target.empty()) raise_opset(model, settings.min_target);
  std::shared_ptr<compress::InputStatistics> statistics;
  compress::Recipe chosen = recipe;
  if (!settings.calibrate.empty()) {
    std::vector<int32_t> ids = settings.calibration_ids;
    if (ids.empty()) {
      ids =
          calibration_tokens(settings.calibrate, generate::find_packages(source).tokenizer_folder(),
                             settings.calibrate_tokens);
    }
    if (settings.mixed > 0) {
      MixedOptions options;
      options.bits = settings.mixed;
      options.group = settings.mixed_group;
      options.threads = settings.threads;
      const std::vector<int32_t> some(
          ids.begin(), ids.begin() + std::min<ptrdiff_t>(ids.end() - ids.begin(), kMixedTokens));
      chosen = mixed_recipe(source, recipe, some, options);
    }
    statistics = statistics_of(source, ids, settings.threads);
  }
  result.compression = compress::compress(model, chosen, settings.threads, statistics);
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = settings.progress;
  mil::write_package(model, output, write);
  result.path = output;
  result.bytes = folder_bytes(output);
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace pippin::app
