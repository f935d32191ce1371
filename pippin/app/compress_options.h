// How weights get smaller, as a person chooses it, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"

namespace pippin::app {

// Each member is the option of the command line of that name; what contradicts another is refused
// in those names.
struct CompressOptions {
  // Linear quantization.
  std::string quantize;  // int4, uint4, int8 or uint8; empty: none
  // What has a scale: "block:N" (along the inputs), "channel" or "tensor"; empty: block:32 for 4
  // bits, channel for 8.
  std::string per;
  std::string block_size;                      // of the inputs, or "CHANNELSxINPUTS"
  bool asymmetric = false, symmetric = false;  // with zero points, or without: the default

  // Palettes.
  int palettize = 0;               // bits: 1, 2, 3, 4, 6 or 8; 0: none
  int64_t group = 0;               // channels that share one; 0: all
  int cluster_dim = 1;             // channels that have one index, up to 16
  std::string lut_dtype;           // "int8": of integers with a scale
  bool per_channel_scale = false;  // of channels that are divided by their magnitude
  // Those of parts of a language model: "none", "BITS" or "BITS,GROUP"; empty: as all others.
  std::string lut_embeddings, lut_ffn, lut_head;

  // Zeros.
  double prune = 0;       // the share of a weight that becomes 0, the smallest elements
  std::string n_m_ratio;  // "N:M": of every M elements along the inputs the N smallest

  // Which weights: patterns of names ('*' any text, '?' one character).
  std::vector<std::string> only, except;  // each has to fit a weight
  std::vector<std::string> exempt;        // as `except`, but may fit none
  std::vector<std::string> tensors;       // "PATTERN=SCHEME" (compress/recipe.h), the last counts
  int64_t min_elements = 2048;            // smaller ones stay as they are

  // A text file that the model reads first, to quantize with error feedback (app/calibration.h);
  // "-": stdin; empty: none.
  std::string calibrate;
  int64_t calibrate_tokens = 4096;  // how many tokens of it
  // Those of the text, where it has been read. Empty: it is read.
  std::vector<int32_t> calibration_ids;
  // Average bits of palettes of 2 to 8 bits, more where the text shows that they matter
  // (app/mixed.h), in groups of so many channels; 0: the same for all.
  double mixed = 0;
  int64_t mixed_group = 16;

  int threads = 0;  // 0: one per core
};

// Nothing if no option asks for compression. With `mixed` it only chooses weights. Throws
// InvalidArgument for options that contradict each other, and for anything that is not a scheme.
std::optional<compress::Recipe> recipe_of(const CompressOptions& options);

// What the measures of a written package add up to.
struct CompressionTotals {
  int64_t elements = 0;
  uint64_t bytes_before = 0, bytes_after = 0;
  double squared_error = 0, energy = 0;
};
CompressionTotals totals_of(const compress::Result& result);
// The square root of the share of the energy that is lost.
double relative_error(double squared_error, double energy);
double bits_per_weight(uint64_t bytes, int64_t elements);

}  // namespace pippin::app
