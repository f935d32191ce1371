#include "pippin/cli/compress_options.h"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/cli/options.h"
#include "pippin/io/json.h"

namespace pippin::cli {
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

// The square root of the share of the energy that is lost.
double relative_error(double squared_error, double energy) {
  return energy > 0 ? std::sqrt(squared_error / energy) : 0;
}

double bits_per_weight(uint64_t bytes, int64_t elements) {
  return static_cast<double>(bytes) * 8 / static_cast<double>(std::max<int64_t>(elements, 1));
}

}  // namespace

void add_compress_options(CLI::App& command, CompressOptions& options) {
  const char* group = "Compression";
  command.add_option("--quantize", options.quantize, "int4, uint4, int8 or uint8 with scales")
      ->group(group);
  command
      .add_option("--per", options.per,
                  "What has a scale: block:N (along the inputs), channel or tensor (default: "
                  "block:32 for 4 bits, channel for 8)")
      ->group(group);
  command
      .add_option("--block-size", options.block_size,
                  "What has a scale: so many inputs, or CHANNELSxINPUTS")
      ->group(group);
  command.add_flag("--symmetric", options.symmetric, "Scales only (the default)")->group(group);
  command.add_flag("--asymmetric", options.asymmetric, "Scales and zero points")->group(group);
  command.add_option("--palettize", options.palettize, "Palettes of 1, 2, 3, 4, 6 or 8 bits")
      ->group(group);
  command
      .add_option("--group", options.group, "Channels that share a palette (default: all of them)")
      ->check(between(1))
      ->group(group);
  command
      .add_option("--cluster-dim", options.cluster_dim,
                  "Palettes of vectors: so many channels have one index (default: 1)")
      ->check(between(1, 16))
      ->group(group);
  command.add_option("--lut-dtype", options.lut_dtype, "int8: palettes of integers with a scale")
      ->group(group);
  command
      .add_flag("--enable-per-channel-scale", options.per_channel_scale,
                "Palettes of channels that are divided by their magnitude")
      ->group(group);
  command
      .add_option("--prune", options.prune,
                  "Share of each weight's elements that becomes 0, the smallest ones")
      ->group(group);
  command
      .add_option("--n-m-ratio", options.n_m_ratio,
                  "N:M: of every M elements along the inputs the N smallest become 0")
      ->group(group);
  command
      .add_option("--lut-embeddings", options.lut_embeddings,
                  "Palette of the embedding: none, BITS or BITS,GROUP")
      ->group(group);
  command.add_option("--lut-ffn", options.lut_ffn, "The same for the layers")->group(group);
  command.add_option("--lut-head", options.lut_head, "The same for the head")->group(group);
  command
      .add_option("--tensor", options.tensors,
                  "PATTERN=SCHEME, several: int4:block:32, int8:channel, lut4:16, none, ...")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--only", options.only, "Pattern of names, several: others stay as they are")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--except", options.except, "Pattern of names, several: these stay as they are")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--min-elements", options.min_elements,
                  "Smaller weights stay as they are (default: 2048)")
      ->check(between(1))
      ->group(group);
}

std::optional<compress::Recipe> recipe_of(const CompressOptions& options) {
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
  recipe.min_elements = options.min_elements;
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

std::string compression_lines(const compress::Result& result) {
  std::string text;
  size_t width = 6;
  for (const auto& weight : result.compressed) width = std::max(width, weight.name.size());
  text += fmt::format("{:<{}}  {:>9}  {:>9}  {:>5}  {:>8}  form\n", "weight", width, "before",
                      "after", "bits", "error");
  for (const auto& weight : result.compressed) {
    const compress::Measure measure = weight.job->measure().value_or(compress::Measure());
    text += fmt::format(
        "{:<{}}  {:>9}  {:>9}  {:>5.2f}  {:>7.3f}%  {}\n", weight.name, width,
        format_bytes(weight.bytes_before), format_bytes(weight.bytes_after),
        bits_per_weight(weight.bytes_after, weight.elements),
        100 * relative_error(measure.squared_error, measure.energy),
        compress::to_string(weight.scheme) + (measure.calibrated ? ", calibrated" : ""));
  }
  for (const auto& weight : result.kept) {
    text += fmt::format("{:<{}}  {:>9}  left as it is: {}\n", weight.name, width,
                        format_bytes(weight.bytes), weight.reason);
  }
  const CompressionTotals totals = totals_of(result);
  text += fmt::format("{:<{}}  {:>9}  {:>9}  {:>5.2f}  {:>7.3f}%\n", "in all", width,
                      format_bytes(totals.bytes_before), format_bytes(totals.bytes_after),
                      bits_per_weight(totals.bytes_after, totals.elements),
                      100 * relative_error(totals.squared_error, totals.energy));
  return text;
}

void write_compression(JsonWriter& json, const compress::Result& result) {
  const CompressionTotals totals = totals_of(result);
  json.key("compression").begin_object();
  json.member("bytes_before", totals.bytes_before)
      .member("bytes_after", totals.bytes_after)
      .member("bits_per_weight", bits_per_weight(totals.bytes_after, totals.elements))
      .member("error", relative_error(totals.squared_error, totals.energy));
  json.key("weights").begin_array();
  for (const auto& weight : result.compressed) {
    const compress::Measure measure = weight.job->measure().value_or(compress::Measure());
    json.begin_object()
        .member("name", weight.name)
        .member("form", compress::to_string(weight.scheme))
        .member("elements", weight.elements)
        .member("bytes_before", weight.bytes_before)
        .member("bytes_after", weight.bytes_after)
        .member("bits_per_weight", bits_per_weight(weight.bytes_after, weight.elements))
        .member("error", relative_error(measure.squared_error, measure.energy))
        .member("squared_error", measure.squared_error)
        .member("calibrated", measure.calibrated)
        .end_object();
  }
  json.end_array().key("kept").begin_array();
  for (const auto& weight : result.kept) {
    json.begin_object()
        .member("name", weight.name)
        .member("bytes", weight.bytes)
        .member("reason", weight.reason)
        .end_object();
  }
  json.end_array().end_object();
}

}  // namespace pippin::cli
