#include "pippin/app/convert/compress_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::app {
namespace {

using compress::Scheme;

[[noreturn]] void refuse(std::string_view message) {
  fail(ErrorCode::InvalidArgument, "{}", message);
}

Scheme scheme_of(const CompressOptions& options) {
  if (!options.quantize.empty() && options.palettize != 0) {
    refuse("--quantize and --palettize exclude each other");
  }
  const bool shape_of_scales = !options.per.empty() || !options.block_size.empty() ||
                               options.symmetric || options.asymmetric;
  if (shape_of_scales && options.quantize.empty()) {
    refuse("--per, --block-size, --symmetric and --asymmetric need --quantize");
  }
  if (!options.per.empty() && !options.block_size.empty()) {
    refuse("--per and --block-size exclude each other");
  }
  const bool palette_only =
      options.cluster_dim != 1 || !options.lut_dtype.empty() || options.per_channel_scale;
  if (palette_only && options.palettize == 0) {
    refuse("--cluster-dim, --lut-dtype and --enable-per-channel-scale need --palettize");
  }
  if (options.group != 0 && options.palettize == 0) refuse("--group needs --palettize");
  if (options.symmetric && options.asymmetric) {
    refuse("--symmetric and --asymmetric exclude each other");
  }
  Scheme scheme;
  if (!options.quantize.empty()) {
    std::string text = options.quantize;
    if (options.asymmetric) text += ":asymmetric";
    if (!options.per.empty()) text += ":" + options.per;
    if (!options.block_size.empty()) text += ":block:" + options.block_size;
    scheme = compress::parse_scheme(text);
    if (scheme.kind != Scheme::Kind::Linear) {
      refuse("--quantize is int4, uint4, int8 or uint8, --per tensor, channel or block:N");
    }
  }
  if (options.palettize != 0) {
    std::string text = fmt::format("lut{}", options.palettize);
    if (options.group != 0) text += fmt::format(":{}", options.group);
    if (options.cluster_dim != 1) text += fmt::format(":cluster_dim:{}", options.cluster_dim);
    if (!options.lut_dtype.empty()) text += ":lut_dtype:" + options.lut_dtype;
    if (options.per_channel_scale) text += ":per_channel_scale";
    scheme = compress::parse_scheme(text);
  }
  if (options.prune != 0) {
    if (!(options.prune > 0 && options.prune < 1)) refuse("--prune is a share between 0 and 1");
    if (!options.n_m_ratio.empty()) refuse("--prune and --n-m-ratio exclude each other");
    scheme.prune = options.prune;
  }
  if (!options.n_m_ratio.empty()) {
    const Scheme ratio = compress::parse_scheme("n_m_ratio:" + options.n_m_ratio);
    scheme.ratio_n = ratio.ratio_n;
    scheme.ratio_m = ratio.ratio_m;
  }
  if (const auto wrong = compress::contradiction(scheme)) refuse(*wrong);
  return scheme;
}

compress::Recipe recipe_of_mixed(const CompressOptions& options) {
  if (options.mixed && options.target_size) {
    refuse("--mixed and --target-size exclude each other");
  }
  const char* option = options.mixed ? "--mixed" : "--target-size";
  const bool parts = !options.lut_embeddings.empty() || !options.lut_ffn.empty() ||
                     !options.lut_head.empty() || !options.tensors.empty();
  if (parts || !scheme_of(options).is_none()) {
    fail(ErrorCode::InvalidArgument,
         "{} chooses forms itself: no --quantize, --palettize, --prune, --n-m-ratio, --lut-... or "
         "--tensor",
         option);
  }
  if (options.mixed && !(*options.mixed >= 2 && *options.mixed <= 8)) {
    fail(ErrorCode::InvalidArgument, "--mixed {:g}: forms have 2 to 8 bits", *options.mixed);
  }
  if (options.target_size == 0) refuse("--target-size 0: a package has 1 byte or more");
  if (options.calibrate.empty()) {
    fail(ErrorCode::InvalidArgument, "{} needs a text to measure on: --calibrate FILE", option);
  }
  if (std::filesystem::is_directory(options.calibrate)) {
    fail(ErrorCode::InvalidArgument, "{} measures on a text: --calibrate FILE, not the folder {}",
         option, options.calibrate);
  }
  compress::Recipe recipe;
  recipe.only = options.only;
  recipe.except = options.except;
  recipe.exempt = options.exempt;
  recipe.min_elements = options.min_elements;
  recipe.rounds = options.calibrate_rounds;
  return recipe;
}

}  // namespace

std::optional<compress::Recipe> recipe_of(const CompressOptions& options) {
  if (options.calibrate_rounds < 0) refuse("--calibrate-rounds is 0 or more");
  if (options.calibrate.empty() && options.calibration_ids.empty() &&
      options.calibrate_rounds != CompressOptions().calibrate_rounds) {
    refuse("--calibrate-rounds needs --calibrate");
  }
  if (options.scale_inputs &&
      (options.calibrate.empty() || std::filesystem::is_directory(options.calibrate))) {
    refuse("--scale-inputs measures errors on a text: --calibrate FILE");
  }
  if (options.chooses_forms()) return recipe_of_mixed(options);
  compress::Recipe recipe;
  recipe.scheme = scheme_of(options);
  const auto part = [](const std::string& text) -> std::optional<Scheme> {
    if (text.empty()) return std::nullopt;
    return compress::parse_lut(text);
  };
  recipe.embeddings = part(options.lut_embeddings);
  recipe.ffn = part(options.lut_ffn);
  recipe.head = part(options.lut_head);
  for (const std::string& text : options.tensors) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0) {
      fail(ErrorCode::InvalidArgument, "--tensor {}: not of the form PATTERN=SCHEME", text);
    }
    recipe.tensors.emplace_back(text.substr(0, equals),
                                compress::parse_scheme(text.substr(equals + 1)));
  }
  recipe.only = options.only;
  recipe.except = options.except;
  recipe.exempt = options.exempt;
  recipe.min_elements = options.min_elements;
  recipe.rounds = options.calibrate_rounds;
  const bool parts = recipe.embeddings || recipe.ffn || recipe.head;
  if (!recipe.scheme.is_none() || parts || !recipe.tensors.empty()) return recipe;
  if (!recipe.only.empty() || !recipe.except.empty()) {
    refuse(
        "--only and --except choose among weights to compress: say how with --quantize, "
        "--palettize or --prune");
  }
  return std::nullopt;
}

CompressionTotals totals_of(const compress::Result& result) {
  CompressionTotals totals;
  for (const compress::CompressedWeight& weight : result.compressed) {
    totals.elements += weight.elements;
    totals.bytes_before += weight.bytes_before;
    totals.bytes_after += weight.bytes_after;
    const compress::Measure measure = weight.job->measure().value_or(compress::Measure());
    totals.squared_error += measure.squared_error;
    totals.energy += measure.energy;
  }
  return totals;
}

double relative_error(double squared_error, double energy) {
  return energy > 0 ? std::sqrt(squared_error / energy) : 0;
}

double bits_per_weight(uint64_t bytes, int64_t elements) {
  return static_cast<double>(bytes) * 8 / static_cast<double>(std::max<int64_t>(elements, 1));
}

}  // namespace pippin::app
