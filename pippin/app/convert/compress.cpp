#include "pippin/app/convert/compress.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/app/convert/mixed.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/open/package_family.h"

namespace pippin::app {
namespace {

constexpr ptrdiff_t kMixedTokens = 512;  // number of tokens for measuring every weight's cost

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

// Raises programs of an earlier opset to `target`, if their operations are the same there.
void raise_opset(mil::Model& model, std::string_view name) {
  const auto target = opset_of(name);
  if (!target) {
    fail(ErrorCode::InvalidArgument,
         "--min-target {}: not one of iOS15, iOS16, iOS17, iOS18, iOS26, CoreML5 to CoreML9", name);
  }
  if (model.is_translated()) return;
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

compress::Recipe checked_recipe(const CompressPackageOptions& options) {
  auto recipe = recipe_of(options.compression);
  if (!recipe) {
    fail(ErrorCode::InvalidArgument,
         "say how to compress: --quantize, --palettize, --prune, --mixed, --lut-... or --tensor");
  }
  recipe->recompress = options.recompress;
  return *std::move(recipe);
}

}  // namespace

void check_compress_options(const CompressPackageOptions& options) {
  checked_recipe(options);
}

CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output,
                                const CompressPackageOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  compress::Recipe recipe = checked_recipe(options);
  check_package_output(output);
  mil::Model model = read_to_rewrite(source);
  CompressResult result;
  if (!options.min_target.empty()) raise_opset(model, options.min_target);
  const CompressOptions& how = options.compression;
  std::shared_ptr<compress::InputStatistics> statistics;
  if (!how.calibrate.empty()) {
    std::vector<int32_t> ids = how.calibration_ids;
    if (ids.empty()) {
      ids = calibration_tokens(how.calibrate, runtime::find_packages(source).tokenizer_folder(),
                               how.calibrate_tokens);
    }
    if (how.mixed > 0) {
      MixedOptions mixed;
      mixed.bits = how.mixed;
      mixed.group = how.mixed_group;
      mixed.threads = how.threads;
      const std::vector<int32_t> some(
          ids.begin(), ids.begin() + std::min<ptrdiff_t>(ids.end() - ids.begin(), kMixedTokens));
      recipe = mixed_recipe(source, recipe, some, mixed);
    }
    statistics = statistics_of(source, ids, how.threads);
  }
  result.compression = compress::compress(model, recipe, how.threads, statistics);
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = options.progress;
  static_cast<PackageOutput&>(result) = write_output(model, output, write, start);
  return result;
}

}  // namespace pippin::app
