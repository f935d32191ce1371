// The user's options for compressing weights, and the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"

namespace pippin::app {

// Each member is the command-line option of that name; contradictions are reported with those
// names.
struct CompressOptions {
  // Linear quantization.
  std::string quantize;  // int4, uint4, int8 or uint8; empty: none
  // The granularity of scales: "block:N" (along the inputs), "channel" or "tensor"; empty: block:32
  // for 4 bits, channel for 8.
  std::string per;
  std::string block_size;  // number of inputs, or "CHANNELSxINPUTS"
  bool asymmetric = false,
       symmetric = false;  // with or without zero points; symmetric is the default

  // Palettes.
  int palettize = 0;               // bits: 1, 2, 3, 4, 6 or 8; 0: none
  int64_t group = 0;               // channels that share a palette; 0: all
  int cluster_dim = 1;             // channels that share an index, up to 16
  std::string lut_dtype;           // "int8": integers with a scale
  bool per_channel_scale = false;  // divides channels by their magnitude
  // With `calibrate`: scales inputs in the norms before them (app/convert/input_scales.h).
  bool scale_inputs = false;
  // Palettes for parts of a language model: "none", "BITS" or "BITS,GROUP"; empty: like all others.
  std::string lut_embeddings, lut_ffn, lut_head;

  // Pruning:
  double prune = 0;       // fraction of each weight's elements set to 0, smallest first
  std::string n_m_ratio;  // "N:M": the N smallest of every M elements along the inputs

  // Selection of weights: patterns of names ('*' any text, '?' one character).
  std::vector<std::string> only, except;  // each must match a weight
  std::vector<std::string> exempt;        // like `except`, but may match none
  std::vector<std::string> tensors;  // "PATTERN=SCHEME" (compress/recipe.h); the last match counts
  int64_t min_elements = 2048;       // smaller weights are not compressed

  // A text file that the model reads first, to quantize with error feedback
  // (app/convert/calibration.h), or a folder of app/convert/calibration_corpus.h; "-": stdin;
  // empty: none.
  std::string calibrate;
  int64_t calibrate_tokens = 4096;  // number of tokens to read from it
  int calibrate_rounds = 4;         // of improvement after error feedback (compress/improve.h)
  // The text's tokens, if it has been read already. Empty: it is read.
  std::vector<int32_t> calibration_ids;
  // The average bits of forms of 2 to 8 bits, with more bits for weights that matter for the text
  // (app/convert/mixed.h); nullopt: the same for all.
  std::optional<double> mixed;
  std::optional<uint64_t> target_size;  // instead of `mixed`: bytes of the package
  bool chooses_forms() const { return mixed || target_size; }

  int threads = 0;  // 0: one per core
};

// Nullopt if no option requests compression. With `mixed` it only selects weights. Throws
// InvalidArgument for options that contradict each other, and for invalid schemes.
std::optional<compress::Recipe> recipe_of(const CompressOptions& options);

// Totals of the measurements of a written package.
struct CompressionTotals {
  int64_t elements = 0;
  uint64_t bytes_before = 0, bytes_after = 0;
  double squared_error = 0, energy = 0;
};
CompressionTotals totals_of(const compress::Result& result);
// The square root of the fraction of energy that is lost.
double relative_error(double squared_error, double energy);
double bits_per_weight(uint64_t bytes, int64_t elements);

}  // namespace pippin::app
