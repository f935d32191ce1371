// Distributes a budget of bits by importance: `pippin compress --mixed BITS`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"

namespace pippin::app {

// The size and cost of one form of a weight.
struct MixedChoice {
  uint64_t bytes = 0;
  double cost = 0;  // never negative
};

// The index of the form for every weight: together they have at most `budget` bytes, or the fewest
// that the forms allow. Greedy: always makes the exchange that saves the most cost per byte.
std::vector<size_t> spend_bytes(const std::vector<std::vector<MixedChoice>>& weights,
                                uint64_t budget);

struct MixedOptions {
  double bits = 4;     // average, including palettes and scales
  int64_t group = 16;  // channels that share a palette, if divisible
  int threads = 0;
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Selects a palette of 2, 3, 4, 6 or 8 bits for each weight that `recipe` does not exclude (the
// recipe's scheme is ignored). The cost of a weight's error is measured: the Kullback-Leibler
// divergence of the next-token distributions over `ids` when this weight alone has 3 bits; other
// widths cost in proportion to their squared error. Throws InvalidArgument for a budget below the
// smallest form; throws as compress() and runtime::make_runnable().
compress::Recipe mixed_recipe(const std::filesystem::path& package, const compress::Recipe& recipe,
                              const std::vector<int32_t>& ids, const MixedOptions& options);

}  // namespace pippin::app
