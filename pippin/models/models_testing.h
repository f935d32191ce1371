// For the tests of models: small checkpoints made by the test.
#pragma once

#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/registry.h"

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

// A model folder for a configuration of any architecture: the tensors that it needs, with random
// numbers.
inline void write_random_model(const std::filesystem::path& folder, const std::string& config) {
  write_file(folder / "config.json", config);
  Tensors tensors = {{"unused", {1}}};
  for (int i = 0; i < 1000; ++i) {
    write_checkpoint(folder, tensors);
    try {
      build(folder);
      return;
    } catch (const Error& error) {
      // "...: tensor 'NAME' of shape [A, B] is missing"
      const std::string message = error.what();
      const size_t name = message.find("tensor '") + 8, end = message.find('\'', name);
      const size_t shape = message.find('[', end) + 1, close = message.find(']', shape);
      if (message.find("belongs to no part") != std::string::npos) {
        tensors.erase(message.substr(name, end - name));
        continue;
      }
      if (!message.ends_with("is missing") || close == std::string::npos) throw;
      std::vector<int64_t> dims;
      std::istringstream numbers(message.substr(shape, close - shape));
      for (std::string number; std::getline(numbers, number, ',');) {
        dims.push_back(std::stoll(number));
      }
      tensors[message.substr(name, end - name)] = dims;
    }
  }
}

}  // namespace pippin::models
