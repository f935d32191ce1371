// Adapters for tests: a base model with random weights, an adapter, and the model whose weights the
// test itself changed, W + scale * B A in doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/models/models_testing.h"

namespace pippin::adapters {

namespace fs = std::filesystem;

inline constexpr char kLlama[] = R"({
  "model_type": "llama", "vocab_size": 19, "hidden_size": 16, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 32})";
// One matrix for queries, keys and values, stored transposed.
inline constexpr char kGpt2[] = R"({
  "model_type": "gpt2", "vocab_size": 19, "n_embd": 16, "n_layer": 2, "n_head": 4,
  "n_positions": 32})";

inline constexpr char kGemma[] = R"({
  "model_type": "gemma", "vocab_size": 19, "hidden_size": 16, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
  "max_position_embeddings": 32})";
inline constexpr char kTiedLlama[] = R"({
  "model_type": "llama", "vocab_size": 19, "hidden_size": 16, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 32, "tie_word_embeddings": true})";

using Matrix = std::vector<float>;  // row-major

struct Tensor {
  std::vector<int64_t> shape;
  Matrix values;
};
using NamedTensors = std::map<std::string, Tensor>;

inline NamedTensors read_tensors(const fs::path& folder) {
  NamedTensors tensors;
  const Checkpoint checkpoint = Checkpoint::open(folder);
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo& info = checkpoint.at(name);
    Tensor& tensor = tensors[name];
    tensor.shape = info.shape;
    tensor.values.resize(info.bytes.size() / sizeof(float));
    std::memcpy(tensor.values.data(), info.bytes.data(), info.bytes.size());
  }
  return tensors;
}

inline void write_tensors(const fs::path& file, const NamedTensors& tensors) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, tensor] : tensors) {
    declarations.push_back({name, Dtype::F32, tensor.shape});
  }
  SafetensorsWriter writer(file, declarations);
  for (const auto& [name, tensor] : tensors) writer.append(std::as_bytes(std::span(tensor.values)));
  writer.finish();
}

// A base model, an adapter, and the model with the adapter merged.
class Fixture {
 public:
  Fixture(const std::string& config, bool transposed, unsigned seed = 3)
      : transposed_(transposed), random_(seed) {
    fs::create_directory(base());
    fs::create_directory(adapter());
    fs::create_directory(merged());
    models::write_random_model(base(), config);
    merged_ = read_tensors(base());
    write_file(merged() / "config.json", config);
  }

  fs::path base() const { return folder_ / "base"; }
  fs::path adapter() const { return folder_ / "adapter"; }
  fs::path merged() const { return folder_ / "merged"; }
  fs::path scratch(const char* name) const { return folder_ / name; }

  // `scale`: the factor that follows from the configuration and the rank.
  void change(const std::string& module, int64_t rank, double scale) {
    Tensor& weight = merged_.at(module + ".weight");
    const int64_t out = weight.shape[transposed_ ? 1 : 0], in = weight.shape[transposed_ ? 0 : 1];
    const Tensor &a = add(module + ".lora_A.weight", {rank, in}),
                 &b = add(module + ".lora_B.weight", {out, rank});
    apply(
        weight, transposed_, out, in, rank, scale,
        [&](int64_t row, int64_t k) { return b.values[static_cast<size_t>(row * rank + k)]; },
        [&](int64_t k, int64_t column) { return a.values[static_cast<size_t>(k * in + column)]; });
  }

  // As change(); the rows of the sum get random lengths.
  void change_by_dora(const std::string& module, int64_t rank, double scale) {
    change(module, rank, scale);
    Tensor& weight = merged_.at(module + ".weight");
    const auto rows = static_cast<size_t>(weight.shape[transposed_ ? 1 : 0]),
               columns = static_cast<size_t>(weight.shape[transposed_ ? 0 : 1]);
    const Tensor& lengths =
        add(module + ".lora_magnitude_vector", {static_cast<int64_t>(rows)}, 1.0F);
    for (size_t row = 0; row < rows; ++row) {
      const auto element = [&](size_t column) -> float& {
        return weight.values[transposed_ ? column * rows + row : row * columns + column];
      };
      double sum = 0;
      for (size_t i = 0; i < columns; ++i) sum += double{element(i)} * element(i);
      const double factor = lengths.values[row] / std::sqrt(sum);
      for (size_t i = 0; i < columns; ++i) element(i) = static_cast<float>(factor * element(i));
    }
  }

  void change_embedding(const std::string& module, int64_t rank, double scale) {
    Tensor& weight = merged_.at(module + ".weight");
    const int64_t rows = weight.shape[0], features = weight.shape[1];
    const Tensor &a = add(module + ".lora_embedding_A", {rank, rows}),
                 &b = add(module + ".lora_embedding_B", {features, rank});
    apply(
        weight, false, rows, features, rank, scale,
        [&](int64_t row, int64_t k) { return a.values[static_cast<size_t>(k * rows + row)]; },
        [&](int64_t k, int64_t column) {
          return b.values[static_cast<size_t>(column * rank + k)];
        });
  }

  void replace(const std::string& tensor) {
    merged_.at(tensor) = add(tensor, merged_.at(tensor).shape);
  }

  // A tensor that the model does not have.
  void add_tensor(const std::string& tensor, std::vector<int64_t> shape) {
    add(tensor, std::move(shape));
  }

  // A head in place of the table's: the merged model is not tied.
  void replace_head(const std::string& table) {
    merged_["lm_head.weight"] = add("lm_head.weight", merged_.at(table).shape);
    untie();
  }
  // The merged model's head is the base's table.
  void keep_tied_head(const std::string& table) {
    merged_["lm_head.weight"] = read_tensors(base()).at(table);
    untie();
  }

  void write(const std::string& settings) const {
    write_file(adapter() / "adapter_config.json", "{\"peft_type\": \"LORA\"" + settings + "}");
    write_tensors(adapter() / "adapter_model.safetensors", adapter_);
    write_tensors(merged() / "model.safetensors", merged_);
  }

 private:
  const Tensor& add(const std::string& name, std::vector<int64_t> shape, float mean = 0.0F) {
    Tensor& tensor = adapter_["base_model.model." + name];
    tensor.shape = std::move(shape);
    int64_t count = 1;
    for (const int64_t dim : tensor.shape) count *= dim;
    std::normal_distribution<float> normal(mean, 0.2F);
    for (int64_t i = 0; i < count; ++i) tensor.values.push_back(normal(random_));
    return tensor;
  }

  void untie() const {
    std::string config = read_file(merged() / "config.json");
    const size_t place = config.find("true");
    config.replace(place, std::string("true").size(), "false");
    write_file(merged() / "config.json", config);
  }

  static void apply(Tensor& weight, bool transposed, int64_t rows, int64_t columns, int64_t rank,
                    double scale, const std::function<float(int64_t, int64_t)>& left,
                    const std::function<float(int64_t, int64_t)>& right) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < rank; ++k) sum += double{left(row, k)} * right(k, column);
        const int64_t at = transposed ? column * rows + row : row * columns + column;
        weight.values[static_cast<size_t>(at)] += static_cast<float>(scale * sum);
      }
    }
  }

  TempDir folder_;
  bool transposed_;
  NamedTensors merged_, adapter_;
  std::mt19937 random_;
};

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double one = std::abs(double{a[i]} - b[i]);
    difference = one <= difference ? difference : one;
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return difference / largest;
}

// The same in mlx-lm's form: both matrices transposed, with its names and one scale.
inline void write_mlx(const Fixture& fixture, const std::string& settings) {
  const auto rename = [](std::string name) {
    name = name.substr(std::string("base_model.model.").size());
    for (const auto& [from, to] :
         {std::pair("lora_A.weight", "lora_a"), std::pair("lora_B.weight", "lora_b"),
          std::pair("lora_embedding_A", "lora_a"), std::pair("lora_embedding_B", "lora_b"),
          std::pair("lora_magnitude_vector", "m")}) {
      if (name.ends_with(from)) return name.substr(0, name.size() - std::string(from).size()) + to;
    }
    return name;
  };
  NamedTensors tensors;
  for (const auto& [name, tensor] : read_tensors(fixture.adapter() / "adapter_model.safetensors")) {
    Tensor& own = tensors[rename(name)];
    own = tensor;
    if (tensor.shape.size() != 2 || rename(name).ends_with("weight")) continue;
    std::reverse(own.shape.begin(), own.shape.end());
    const auto rows = static_cast<size_t>(tensor.shape[0]),
               columns = static_cast<size_t>(tensor.shape[1]);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j)
        own.values[j * rows + i] = tensor.values[i * columns + j];
    }
  }
  fs::remove(fixture.adapter() / "adapter_model.safetensors");
  write_tensors(fixture.adapter() / "adapters.safetensors", tensors);
  write_file(fixture.adapter() / "adapter_config.json", settings);
}

}  // namespace pippin::adapters
