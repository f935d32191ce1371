#include "pippin/app/convert/compress.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/app/convert/calibration_corpus.h"
#include "pippin/app/convert/input_scales.h"
#include "pippin/app/convert/mixed.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/files/pending_output.h"
#include "pippin/base/log.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/package_size.h"
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

mil::Model read_source(const std::filesystem::path& source, const CompressPackageOptions& options) {
  mil::Model model = read_to_rewrite(source);
  if (!options.min_target.empty()) raise_opset(model, options.min_target);
  return model;
}

std::shared_ptr<compress::InputStatistics> statistics_of(const std::filesystem::path& source,
                                                         std::vector<int32_t> ids, int threads) {
  CalibrationOptions options;
  options.threads = threads;
  return calibrate(mil::read_package(source), std::move(ids), options);
}

// Writes the model with scaled inputs; false if no scales lower the error.
bool write_scaled(const std::filesystem::path& source, const std::filesystem::path& output,
                  compress::Recipe recipe, const CompressOptions& how,
                  const std::shared_ptr<compress::InputStatistics>& statistics) {
  // The forms of --mixed are chosen later.
  if (how.chooses_forms()) recipe.scheme = compress::parse_scheme("lut3");
  const InputScales scales = search_scales(source, recipe, statistics, how.threads);
  log_info("scaled the inputs of {} norms' products", scales.size());
  if (scales.empty()) return false;
  mil::Model model = mil::read_package(source);
  apply(scales, model);
  mil::write_package(model, output);
  return true;
}

compress::Recipe checked_recipe(const CompressPackageOptions& options) {
  auto recipe = recipe_of(options.compression);
  if (!recipe) {
    fail(ErrorCode::InvalidArgument,
         "say how to compress: --quantize, --palettize, --prune, --mixed, --target-size, --lut-... "
         "or --tensor");
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
  mil::Model model = read_source(source, options);
  CompressResult result;
  mil::WriteOptions write;
  write.extra_files = mil::read_extra_files(source);
  write.progress = options.progress;
  const CompressOptions& how = options.compression;
  std::filesystem::path from = source;  // or the same model with scaled inputs
  std::optional<PendingOutput> scratch;
  const auto scratch_package = [&] {
    if (!scratch) {
      scratch.emplace(output);
      std::filesystem::create_directory(scratch->path());
    }
    return scratch->path() / "scaled.mlpackage";
  };
  std::shared_ptr<compress::InputStatistics> statistics;
  if (is_calibration_folder(how.calibrate)) {
    statistics = stored_calibration(mil::read_package(source), how.calibrate);
  } else if (!how.calibrate.empty()) {
    std::vector<int32_t> ids = how.calibration_ids;
    if (ids.empty()) {
      ids = calibration_tokens(how.calibrate, runtime::find_packages(source).tokenizer_folder(),
                               how.calibrate_tokens);
    }
    statistics = statistics_of(source, ids, how.threads);
    if (how.scale_inputs && write_scaled(source, scratch_package(), recipe, how, statistics)) {
      from = scratch_package();
      model = read_source(from, options);
      statistics = statistics_of(from, ids, how.threads);
    }
    if (how.chooses_forms()) {
      MixedOptions mixed;
      mixed.bits = how.mixed.value_or(mixed.bits);
      mixed.target_size = how.target_size.value_or(0);
      mixed.package_bytes = [&](const compress::Recipe& forms) {
        mil::Model compressed = read_source(from, options);
        compress::compress(compressed, forms, how.threads);
        return mil::package_bytes(compressed, write.extra_files) + options.other_bytes;
      };
      mixed.threads = how.threads;
      mixed.statistics = statistics;
      const std::vector<int32_t> some(
          ids.begin(), ids.begin() + std::min<ptrdiff_t>(ids.end() - ids.begin(), kMixedTokens));
      recipe = mixed_recipe(from, recipe, some, mixed);
    }
  }
  result.compression = compress::compress(model, recipe, how.threads, statistics);
  static_cast<PackageOutput&>(result) = write_output(model, output, write, start);
  return result;
}

}  // namespace pippin::app
