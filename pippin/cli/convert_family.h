// pippin convert --family anemll|windowed: a model folder becomes a folder of packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "pippin/cli/convert.h"
#include "pippin/compress/recipe.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct FamilyOptions {
  std::string family = "stateful";  // or "anemll", "windowed"
  int64_t context = 0;
  std::string prefix;
  std::filesystem::path fused_adapter;  // empty: none
  // anemll:
  int64_t batch = 0;
  std::string chunks = "auto";       // a number, or the fewest under
  std::string max_chunk_mb = "ios";  // a number of 10^6 bytes, ios (950) or macos (2000)
  bool argmax_in_model = false;
  // windowed:
  int64_t blocks_per_chunk = 3, window = 64, cache = 448;
};

void add_family_options(CLI::App& command, FamilyOptions& options);

// As convert(), for the two families that are folders: `output` is replaced as a whole when
// everything is written, and only where it is such a folder or empty.
ConvertResult convert_to_folder(const std::filesystem::path& source,
                                const std::filesystem::path& output, const FamilyOptions& options,
                                const std::function<void(uint64_t, uint64_t)>& progress,
                                const std::optional<compress::Recipe>& recipe = std::nullopt);

}  // namespace pippin::cli
