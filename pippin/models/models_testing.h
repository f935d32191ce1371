// For the tests of models: small checkpoints made on the spot.
#pragma once

#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "pippin/io/safetensors_writer.h"

namespace pippin::models {

using Tensors = std::map<std::string, std::vector<int64_t>>;

// fp32 tensors of small random numbers.
inline void write_checkpoint(const std::filesystem::path& folder, const Tensors& tensors) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, shape] : tensors) declarations.push_back({name, Dtype::F32, shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  for (const auto& declaration : declarations) {
    int64_t count = 1;
    for (const int64_t dim : declaration.shape) count *= dim;
    for (int64_t i = 0; i < count; ++i) {
      const float value = normal(random);
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
}

}  // namespace pippin::models
