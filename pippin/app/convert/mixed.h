// Distributes a budget of bits by importance: `pippin compress --mixed` and `--target-size`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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
  double bits = 4;  // average, including palettes and scales
  // Instead of `bits`: the bytes of the whole output, and their number with a recipe.
  uint64_t target_size = 0;
  std::function<uint64_t(const compress::Recipe&)> package_bytes = nullptr;
  int threads = 0;
  // Inputs of the weights: forms are then measured calibrated. May be null.
  std::shared_ptr<compress::InputStatistics> statistics = nullptr;
  std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

// Selects one of mixed_forms() for each weight that `recipe` does not exclude (the recipe's scheme
// is ignored). The cost of a weight's error is measured: the Kullback-Leibler divergence of the
// next-token distributions over `ids` when this weight alone has about 3 bits; other forms cost in
// proportion to the squared error of the weight's products with its inputs, or of the weight itself
// if its inputs are not known. Throws InvalidArgument for a budget below the smallest forms; throws
// as compress() and runtime::make_runnable().
compress::Recipe mixed_recipe(const std::filesystem::path& package, const compress::Recipe& recipe,
                              const std::vector<int32_t>& ids, const MixedOptions& options);

}  // namespace pippin::app
