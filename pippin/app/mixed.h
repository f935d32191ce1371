// A budget of bits, spent where it matters: `pippin compress --mixed BITS`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/compress/compress.h"

namespace pippin::app {

// What each form of a weight takes and costs.
struct MixedChoice {
  uint64_t bytes = 0;
  double cost = 0;  // never negative
};

// For every weight the index of its form: all together take at most `budget` bytes, or the fewest
// that the forms allow; found by always taking the exchange that saves the most cost for a byte.
std::vector<size_t> spend_bytes(const std::vector<std::vector<MixedChoice>>& weights,
                                uint64_t budget);

struct MixedOptions {
  double bits = 4;     // on average, with palettes and scales
  int64_t group = 16;  // channels that share a palette, where they divide
  int threads = 0;
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// A palette of 2, 3, 4, 6 or 8 bits for each weight that `recipe` (its choice of weights; not its
// scheme) does not exclude. What a weight's error costs is measured: the Kullback-Leibler
// divergence of the next-token distributions over `ids` when this weight alone has 3 bits; other
// widths cost in proportion to their squared error. Throws InvalidArgument for a budget below the
// smallest form, as compress() and runtime::make_runnable().
compress::Recipe mixed_recipe(const std::filesystem::path& package, const compress::Recipe& recipe,
                              const std::vector<int32_t>& ids, const MixedOptions& options);

}  // namespace pippin::app
