// How weights get smaller, as a person chooses it, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"

namespace pippin::app {

struct CompressOptions {
  std::string quantize, per;
  bool asymmetric = false, symmetric = false;
  int palettize = 0;
  int64_t group = 0;
  double prune = 0;
  std::string n_m_ratio, block_size, lut_dtype;
  int cluster_dim = 1;
  bool per_channel_scale = false;
  std::vector<std::string> only, except, tensors;
  std::string lut_embeddings, lut_ffn, lut_head;
  int64_t min_elements = 2048;
};

// Nothing where no option asks for compression. Throws InvalidArgument for options that contradict
// each other.
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
