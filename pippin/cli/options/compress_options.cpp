#include "pippin/cli/options/compress_options.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"

namespace pippin::cli {
void add_compress_options(CLI::App& command, app::CompressOptions& options) {
  const char* group = "Compression";
  command.add_option("--quantize", options.quantize, "int4, uint4, int8 or uint8 with scales")
      ->group(group);
  command
      .add_option("--per", options.per,
                  "One scale per block:N (along the inputs), channel or tensor (default: block:32 "
                  "for 4 bits, channel for 8)")
      ->group(group);
  command
      .add_option("--block-size", options.block_size,
                  "One scale per N inputs, or per CHANNELSxINPUTS")
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
                  "Palettes of vectors: number of channels per index (default: 1)")
      ->check(between(1, 16))
      ->group(group);
  command.add_option("--lut-dtype", options.lut_dtype, "int8: palettes of integers with a scale")
      ->group(group);
  command
      .add_flag("--enable-per-channel-scale", options.per_channel_scale,
                "Scale each channel by its magnitude before palettizing")
      ->group(group);
  command
      .add_option("--prune", options.prune,
                  "Fraction of each weight's elements to set to 0, the smallest ones")
      ->group(group);
  command
      .add_option("--n-m-ratio", options.n_m_ratio,
                  "N:M: set the N smallest of every M elements along the inputs to 0")
      ->group(group);
  command
      .add_option("--lut-embeddings", options.lut_embeddings,
                  "Palette of the embedding: none, BITS or BITS,GROUP")
      ->group(group);
  command.add_option("--lut-ffn", options.lut_ffn, "The same for the layers")->group(group);
  command.add_option("--lut-head", options.lut_head, "The same for the head")->group(group);
  command
      .add_option("--tensor", options.tensors,
                  "PATTERN=SCHEME, repeatable: int4:block:32, int8:channel, lut4:16, none, ...")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--only", options.only,
                  "Compress only weights whose names match this pattern; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--except", options.except,
                  "Keep weights whose names match this pattern unchanged; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--min-elements", options.min_elements,
                  "Leave weights with fewer elements as they are (default: 2048)")
      ->check(between(1))
      ->group(group);
}

void add_calibration_options(CLI::App& command, app::CompressOptions& options) {
  command.add_option("--calibrate", options.calibrate,
                     "Text for calibration, or a folder of pippin calibrate: quantize with error "
                     "feedback (GPTQ); - is stdin");
  command
      .add_option("--calibrate-tokens", options.calibrate_tokens,
                  "Number of tokens of that text (default: 4096)")
      ->check(between(app::kMinCalibrationTokens));
  command
      .add_option("--calibrate-rounds", options.calibrate_rounds,
                  "Rounds after error feedback, each of which chooses all quantized values, scales "
                  "and palette entries again (default: 4); 0: none, the fastest")
      ->check(between(0, 100));
  command.add_flag("--scale-inputs", options.scale_inputs,
                   "Scale the inputs of matrices in the norms before them, where that lowers the "
                   "error (AWQ)");
  command.add_option(
      "--mixed", options.mixed,
      "Average bits of palettes and integers of 2 to 8 bits, more where the text shows that they "
      "matter");
  command
      .add_option("--target-size", options.target_size,
                  "Instead of --mixed: the size of the package in bytes; 300M, 2G")
      ->transform(size_in_bytes())
      ->check(between(1));
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
        app::bits_per_weight(weight.bytes_after, weight.elements),
        100 * app::relative_error(measure.squared_error, measure.energy),
        compress::to_string(weight.scheme) + (measure.calibrated ? ", calibrated" : ""));
  }
  for (const auto& weight : result.kept) {
    text += fmt::format("{:<{}}  {:>9}  left as it is: {}\n", weight.name, width,
                        format_bytes(weight.bytes), weight.reason);
  }
  const app::CompressionTotals totals = app::totals_of(result);
  text += fmt::format("{:<{}}  {:>9}  {:>9}  {:>5.2f}  {:>7.3f}%\n", "in all", width,
                      format_bytes(totals.bytes_before), format_bytes(totals.bytes_after),
                      app::bits_per_weight(totals.bytes_after, totals.elements),
                      100 * app::relative_error(totals.squared_error, totals.energy));
  return text;
}

}  // namespace pippin::cli
