// Names of older and other writers: the same weights under any of them.
#include "pippin/models/config/tensor_names.h"

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"

namespace pippin::models {
namespace {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};
using All = std::map<std::string, Tensor>;

All read_all(const std::filesystem::path& folder) {
  All all;
  const Checkpoint checkpoint = Checkpoint::open(folder);
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo& tensor = checkpoint.at(name);
    all[name] = {tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
  }
  return all;
}

void write_all(const std::filesystem::path& folder, const All& all) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, tensor] : all) declarations.push_back({name, Dtype::F32, tensor.shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  for (const auto& [name, tensor] : all) writer.append(tensor.bytes);
  writer.finish();
}

// The constants of a program that are large, by name.
std::map<std::string, std::vector<std::byte>> weights_of(const mil::Model& model) {
  std::map<std::string, std::vector<std::byte>> weights;
  for (const auto& [name, function] : model.program.functions) {
    mil::for_each_operation(function->block(), [&](const mil::Operation& operation) {
      const mil::Value* value = operation.constant_value();
      if (value == nullptr || value->source == nullptr) return;
      std::vector<std::byte>& bytes = weights[operation.outputs().front()->name];
      bytes.resize(value->source->size());
      value->source->read(0, bytes);
    });
  }
  return weights;
}

void join_experts(All& all, const std::string& layer, const std::string& from,
                  const std::string& to, int experts) {
  Tensor joined;
  for (int i = 0; i < experts; ++i) {
    const auto node = all.extract(layer + "experts." + std::to_string(i) + "." + from);
    const Tensor& one = node.mapped();
    joined.bytes.insert(joined.bytes.end(), one.bytes.begin(), one.bytes.end());
    joined.shape = {experts};
    joined.shape.insert(joined.shape.end(), one.shape.begin(), one.shape.end());
  }
  all[layer + to] = joined;
}

constexpr char kExperts[] = R"(, "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
  "num_hidden_layers": 1, "num_attention_heads": 2,
  "num_key_value_heads": 1, "head_dim": 4, "max_position_embeddings": 16,
  "num_experts_per_tok": 2, )";

// Experts as mlx-lm stacks them, under mlx-lm's names for any model.
TEST(TensorNames, StackedExpertsOfMlxLm) {
  const struct {
    const char *type, *own, *layer, *gate, *up, *down;
  } models[] = {{"qwen3_moe", R"("num_experts": 4, "moe_intermediate_size": 6})",
                 "model.layers.0.mlp.", "gate_proj.weight", "up_proj.weight", "down_proj.weight"},
                {"mixtral", R"("num_local_experts": 4})", "model.layers.0.block_sparse_moe.",
                 "w1.weight", "w3.weight", "w2.weight"}};
  for (const auto& model : models) {
    SCOPED_TRACE(model.type);
    const TempDir folder;
    const std::string config = R"({"model_type": ")" + std::string(model.type) + "\"" + kExperts;
    write_random_model(folder.path(), config + model.own);
    const auto expected = weights_of(build(folder.path()));
    All all = read_all(folder.path());
    join_experts(all, model.layer, model.gate, "switch_mlp.gate_proj.weight", 4);
    join_experts(all, model.layer, model.up, "switch_mlp.up_proj.weight", 4);
    join_experts(all, model.layer, model.down, "switch_mlp.down_proj.weight", 4);
    write_all(folder.path(), all);
    EXPECT_EQ(weights_of(build(folder.path())), expected);
  }
}

// The two tensors that transformers 5 has in memory.
TEST(TensorNames, FusedExperts) {
  const TempDir folder;
  write_random_model(folder.path(), R"({"model_type": "qwen3_moe")" + std::string(kExperts) +
                                        R"("num_experts": 4, "moe_intermediate_size": 6})");
  const auto expected = weights_of(build(folder.path()));
  All all = read_all(folder.path());
  const std::string layer = "model.layers.0.mlp.";
  Tensor joined{{4, 12, 8}, {}};
  for (int i = 0; i < 4; ++i) {
    for (const char* part : {"gate_proj", "up_proj"}) {
      const auto node =
          all.extract(layer + "experts." + std::to_string(i) + "." + part + ".weight");
      const auto& bytes = node.mapped().bytes;
      joined.bytes.insert(joined.bytes.end(), bytes.begin(), bytes.end());
    }
  }
  all[layer + "experts.gate_up_proj"] = joined;
  join_experts(all, layer, "down_proj.weight", "experts.down_proj", 4);
  write_all(folder.path(), all);
  EXPECT_EQ(weights_of(build(folder.path())), expected);
}

TEST(TensorNames, OldNamesOfNormsAndTables) {
  const TempDir folder;
  const Tensor one{{1}, std::vector<std::byte>(4)};
  write_all(folder.path(),
            {{"a.LayerNorm.gamma", one},
             {"a.LayerNorm.beta", one},
             {"b.gamma", one},
             {"b.weight", one},
             {"encoder.embed_tokens.weight", one},
             {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", one}});
  const auto names = with_current_names(Checkpoint::open(folder.path())).names();
  EXPECT_EQ(names, (std::vector<std::string>{
                       "a.LayerNorm.bias", "a.LayerNorm.weight", "b.gamma", "b.weight",
                       "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                       "shared.weight"}));
}

}  // namespace
}  // namespace pippin::models
