// What --family and its options say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace pippin::app {

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

}  // namespace pippin::app
