// Compares LoRA adapters with a model whose weights the test itself changed: W + scale * B A in
// doubles.

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using models::BuildOptions;

constexpr char kLlama[] = R"({
  "model_type": "llama", "vocab_size": 19, "hidden_size": 16, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 32})";
// One matrix for queries, keys and values, stored transposed.
constexpr char kGpt2[] = R"({
  "model_type": "gpt2", "vocab_size": 19, "n_embd": 16, "n_layer": 2, "n_head": 4,
  "n_positions": 32})";

using Matrix = std::vector<float>;  // row-major

struct Tensor {
  std::vector<int64_t> shape;
  Matrix values;
};
using NamedTensors = std::map<std::string, Tensor>;

NamedTensors read_tensors(const fs::path& folder) {
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

void write_tensors(const fs::path& file, const NamedTensors& tensors) {
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
  Fixture(const std::string& config, bool transposed) : transposed_(transposed) {
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

  void write(const std::string& settings) const {
    write_file(adapter() / "adapter_config.json", "{\"peft_type\": \"LORA\"" + settings + "}");
    write_tensors(adapter() / "adapter_model.safetensors", adapter_);
    write_tensors(merged() / "model.safetensors", merged_);
  }

 private:
  const Tensor& add(const std::string& name, std::vector<int64_t> shape) {
    Tensor& tensor = adapter_["base_model.model." + name];
    tensor.shape = std::move(shape);
    int64_t count = 1;
    for (const int64_t dim : tensor.shape) count *= dim;
    std::normal_distribution<float> normal(0.0f, 0.2f);
    for (int64_t i = 0; i < count; ++i) tensor.values.push_back(normal(random_));
    return tensor;
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
  std::mt19937 random_{3};
};

std::vector<float> logits_of(mil::Model model, const std::string& adapter = "") {
  const auto runnable =
      runtime::make_runnable(std::move(model), {.threads = 1, .adapter = adapter});
  return runnable.model->new_sequence()->all_logits(std::vector<int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double one = std::abs(double{a[i]} - b[i]);
    difference = one <= difference ? difference : one;
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return difference / largest;
}

void expect_merged(const Fixture& fixture, double direct_tolerance = 1e-5) {
  BuildOptions options;
  options.compute = BuildOptions::Compute::Float32Direct;
  const auto expected = logits_of(models::build(fixture.merged(), options));
  const auto unchanged = logits_of(models::build(fixture.base(), options));
  EXPECT_GT(largest_difference(unchanged, expected), 0.01);

  BuildOptions fused = options;
  fused.fused_adapter = fixture.adapter();
  EXPECT_LT(largest_difference(logits_of(models::build(fixture.base(), fused)), expected),
            direct_tolerance);
  BuildOptions separate = options;
  separate.adapters = {{"style", fixture.adapter()}, {"other", fixture.adapter()}};
  EXPECT_LT(
      largest_difference(logits_of(models::build(fixture.base(), separate), "style"), expected),
      direct_tolerance);
  EXPECT_EQ(logits_of(models::build(fixture.base(), separate)), unchanged);

  // Through a package, whose functions share one copy of the weights.
  separate.compute = BuildOptions::Compute::Float16Package;
  const fs::path package = fixture.scratch("m.mlpackage");
  mil::write_package(models::build(fixture.base(), separate), package);
  mil::Model read = mil::read_package(package);
  EXPECT_TRUE(read.multifunction);
  EXPECT_EQ(read.metadata.user_defined.at("pippin.adapters"), "style,other");
  EXPECT_LT(largest_difference(logits_of(std::move(read), "other"), expected), 2e-2);
}

TEST(Adapters, ChangeTheMatricesOfLlama) {
  Fixture fixture(kLlama, false);
  for (const char* module : {"self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"}) {
    fixture.change(std::string("model.layers.0.") + module, 3, 5.0 / 3);
    fixture.change(std::string("model.layers.1.") + module, 3, 5.0 / 3);
  }
  fixture.change("lm_head", 2, 5.0 / 2);
  fixture.write(R"(, "r": 3, "lora_alpha": 5, "rank_pattern": {"lm_head": 2})");
  expect_merged(fixture);
}

TEST(Adapters, ChangeFusedAndTransposedMatrices) {
  Fixture fixture(kGpt2, true);
  fixture.change("transformer.h.0.attn.c_attn", 4, 2.0);
  fixture.change("transformer.h.1.mlp.c_fc", 4, 2.0);
  fixture.write(R"(, "r": 4, "lora_alpha": 8, "fan_in_fan_out": true)");
  expect_merged(fixture);
}

TEST(Adapters, ScalesByRootAndByPattern) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 6.0 / 2);
  fixture.change("model.layers.1.mlp.up_proj", 4, 1.0 / 2);
  fixture.write(R"(, "r": 4, "lora_alpha": 6, "use_rslora": true,
    "alpha_pattern": {"layers.1.mlp.up_proj": 1})");
  expect_merged(fixture);
}

TEST(Adapters, ChangeTheEmbeddingAndReplaceTensors) {
  Fixture fixture(kLlama, false);
  fixture.change_embedding("model.embed_tokens", 2, 4.0);
  fixture.replace("lm_head.weight");
  fixture.replace("model.layers.0.input_layernorm.weight");
  fixture.write(R"(, "r": 2, "lora_alpha": 8)");
  expect_merged(fixture);
}

// The same in mlx-lm's form: both matrices transposed, with its names and one scale.
void write_mlx(const Fixture& fixture, const std::string& settings) {
  const auto rename = [](std::string name) {
    name = name.substr(std::string("base_model.model.").size());
    for (const auto& [from, to] :
         {std::pair("lora_A.weight", "lora_a"), std::pair("lora_B.weight", "lora_b"),
          std::pair("lora_embedding_A", "lora_a"), std::pair("lora_embedding_B", "lora_b")}) {
      if (name.ends_with(from)) return name.substr(0, name.size() - std::string(from).size()) + to;
    }
    return name;
  };
  NamedTensors tensors;
  for (const auto& [name, tensor] : read_tensors(fixture.adapter() / "adapter_model.safetensors")) {
    Tensor& own = tensors[rename(name)];
    own = tensor;
    if (rename(name) == name.substr(std::string("base_model.model.").size())) continue;
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

TEST(Adapters, OfMlxLmAreReadToo) {
  Fixture fixture(kLlama, false);
  for (const char* module : {"self_attn.q_proj", "mlp.down_proj"}) {
    fixture.change(std::string("model.layers.1.") + module, 3, 20.0);
  }
  fixture.change_embedding("model.embed_tokens", 3, 20.0);
  fixture.write(R"(, "r": 3, "lora_alpha": 60)");
  write_mlx(fixture, R"({"fine_tune_type": "lora", "num_layers": 1,
      "lora_parameters": {"rank": 3, "scale": 20.0, "dropout": 0.0}})");
  expect_merged(fixture);

  Fixture full(kLlama, false);
  for (const char* part : {"mlp.up_proj", "mlp.down_proj", "self_attn.o_proj"}) {
    full.replace("model.layers.1." + std::string(part) + ".weight");
  }
  full.write("");
  write_mlx(full, R"({"fine_tune_type": "full", "num_layers": 1})");
  expect_merged(full);
}

TEST(Adapters, OfMlxLmThatDoNotFitAreRefusedByName) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 1.0);
  fixture.write("");
  const auto refusal = [&](const char* settings) -> std::string {
    write_file(fixture.adapter() / "adapter_config.json", settings);
    try {
      models::build(fixture.base(), {.fused_adapter = fixture.adapter()});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(R"({"fine_tune_type": "dora", "lora_parameters": {"scale": 1}})"),
              HasSubstr("fine_tune_type: 'dora' is not supported (known: lora, full)"));
  EXPECT_THAT(refusal(R"({"lora_parameters": {"rank": 4, "alpha": 16, "scale": 1}})"),
              HasSubstr("lora_parameters.alpha: 16 is not supported"));
  EXPECT_THAT(refusal(R"({"lora_parameters": {"rank": 4, "scale": 1}})"),
              HasSubstr("neither adapters.safetensors nor adapters.npz"));
}

std::string error_of(const Fixture& fixture, const std::string& settings) {
  fixture.write(settings);
  BuildOptions options;
  options.fused_adapter = fixture.adapter();
  try {
    models::build(fixture.base(), options);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "no error";
}

TEST(Adapters, WhatDoesNotFitIsRefusedByName) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 1.0);
  using testing::HasSubstr;
  EXPECT_THAT(error_of(fixture, R"(, "use_dora": true)"), HasSubstr("use_dora"));
  EXPECT_THAT(error_of(fixture, R"(, "peft_type": "IA3")"), HasSubstr("peft_type 'IA3'"));
  EXPECT_THAT(error_of(fixture, R"(, "alpha_pattern": {"(": 1})"), HasSubstr("alpha_pattern"));
  EXPECT_EQ(error_of(fixture, ""), "no error");

  Fixture other(R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 24,
    "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 32})",
                false);
  other.change("model.layers.1.mlp.up_proj", 4, 1.0);
  other.write("");
  BuildOptions options;
  options.adapters = {{"style", other.adapter()}};
  const auto build_error = [&]() -> std::string {
    try {
      models::build(fixture.base(), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(build_error(), HasSubstr("has shape [4, 24], the model needs [4, 16]"));
  options.adapters = {{"1style", fixture.adapter()}};
  EXPECT_THAT(build_error(), HasSubstr("\"1style\" is not a valid function name"));
  options.adapters = {{"style", fixture.adapter()}, {"style", fixture.adapter()}};
  EXPECT_THAT(build_error(), HasSubstr("two functions"));
}

}  // namespace
}  // namespace pippin
