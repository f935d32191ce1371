// Palettes of vectors: 2^n points of a few dimensions that replace a set of vectors.
//
// k-means: seeds drawn with probability proportional to their squared distance from earlier seeds
// ("k-means++", Arthur and Vassilvitskii, 2007), improved by Lloyd's algorithm, the best of several
// restarts. The same seed gives the same palette.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::compress {

constexpr size_t kMaxEntries = 256;

struct VectorPaletteOptions {
  size_t entries = 16;  // at most kMaxEntries
  size_t dimensions = 2;
  int restarts = 2;
  int iterations = 20;           // maximum, per restart
  size_t max_vectors = 1 << 15;  // larger sets are sampled evenly
  uint64_t seed = 1;
};

// `vectors` has at least one vector, stored one after another, of `dimensions` finite values each.
// Returns exactly `entries` points.
std::vector<float> vector_palette(std::span<const float> vectors,
                                  const VectorPaletteOptions& options);

// Finds the nearest point of a palette.
class NearestVector {
 public:
  NearestVector(std::span<const float> palette, size_t dimensions);
  size_t operator()(const float* vector) const;
  // The same, and its squared distance.
  float squared_distance(const float* vector, size_t& index) const;

 private:
  size_t entries_, dimensions_;
  std::vector<float> columns_;  // [dimension][entry]: loops over the entries are vectorized
};

}  // namespace pippin::compress
