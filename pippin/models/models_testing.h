// For the tests of models: small checkpoints made by the test.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/registry.h"

namespace pippin::models {

using Tensors = std::map<std::string, std::vector<int64_t>>;

// fp32 tensors of small random numbers; variances and upper bounds are above 0, lower bounds below.
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
      const std::string& name = declaration.name;
      const bool is_above = name.ends_with("running_var") || name.ends_with("put_max");
      const float drawn = normal(random), size = std::abs(drawn);
      const float value = is_above ? size : name.ends_with("put_min") ? -size : drawn;
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
}

// weights() of make_goldens.py.
inline std::vector<float> made_weights(std::string_view name, std::span<const int64_t> shape) {
  uint32_t seed = 2166136261U;
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 16777619U;
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  const float middle = shape.size() == 1 && name.ends_with("weight") ? 1.0f : 0.0f;
  std::vector<float> values;
  while (values.size() < count) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back((static_cast<float>(seed >> 24) - 128) / 512 + middle);
  }
  return values;
}

// The checkpoint of a case of goldens.json or encoder_goldens.json.
inline void write_made_model(const std::filesystem::path& folder, const Json& golden) {
  write_file(folder / "config.json", golden.at("config").dump());
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, shape] : golden.at("tensors").members()) {
    declarations.push_back({std::string(name), Dtype::F32, shape.as_ints()});
  }
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  for (const auto& declaration : declarations) {
    const std::vector<float> values = made_weights(declaration.name, declaration.shape);
    writer.append(std::as_bytes(std::span(values)));
  }
  writer.finish();
}

// A model folder for a configuration of any architecture: the tensors that it turns out to need,
// with random numbers.
inline void write_random_model(
    const std::filesystem::path& folder, const std::string& config,
    const std::function<void(const std::filesystem::path&)>& build_model =
        [](const std::filesystem::path& path) { build(path); }) {
  write_file(folder / "config.json", config);
  Tensors tensors = {{"unused", {1}}};
  for (int i = 0; i < 1000; ++i) {
    write_checkpoint(folder, tensors);
    try {
      build_model(folder);
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
