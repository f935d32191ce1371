// The encoders of encoder_goldens.json as GGUF files, named and laid out as llama.cpp's converter
// does, give the embeddings of the checkpoints: Nomic Embed 2, whose experts have no bias there,
// and Jina Embeddings 2 in its forms.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/models_testing.h"
#include "pippin/runtime/encoder_model.h"
#include "tests/gguf_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_gguf::GgufFile;
using Floats = std::vector<float>;

struct Tensor {
  std::vector<int64_t> shape;
  Floats values;
};
using Tensors = std::map<std::string, Tensor>;

// The checkpoint of the golden, with zeros for the bias that the format lacks.
Tensors tensors_of(const Json& golden) {
  Tensors all;
  for (const auto& [name, dims] : golden.at("tensors").members()) {
    Tensor tensor{dims.as_ints(), {}};
    tensor.values = models::made_weights(std::string(name), tensor.shape);
    if (name.ends_with("experts.bias")) std::fill(tensor.values.begin(), tensor.values.end(), 0.0f);
    all.emplace(name, std::move(tensor));
  }
  return all;
}

void write_folder(const fs::path& folder, const Json& golden, const Tensors& tensors) {
  write_file(folder / "config.json", golden.at("config").dump());
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, tensor] : tensors) {
    declarations.push_back({name, Dtype::F32, tensor.shape});
  }
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  for (const auto& [name, tensor] : tensors) {
    writer.append(std::as_bytes(std::span(tensor.values)));
  }
  writer.finish();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  return place == text.npos ? text : text.replace(place, from.size(), to);
}

using Parts = std::vector<std::pair<const char*, const char*>>;

std::string renamed(std::string name, const Parts& parts) {
  for (const auto& [from, to] : parts) name = replaced(std::move(name), from, to);
  return name;
}

std::string nomic_name(const std::string& name) {
  static const Parts parts = {
      {"embeddings.word_embeddings", "token_embd"},
      {"embeddings.token_type_embeddings", "token_types"},
      {"emb_ln", "token_embd_norm"},
      {"encoder.layers.", "blk."},
      {"attn.Wqkv", "attn_qkv"},
      {"attn.out_proj", "attn_output"},
      {"norm1", "attn_output_norm"},
      {"norm2", "layer_output_norm"},
      {"mlp.fc1", "ffn_up"},
      {"mlp.fc2", "ffn_down"},
      {"mlp.router.layer", "ffn_gate_inp"},
      {"mlp.experts.mlp.w1", "ffn_up_exps.weight"},
      {"mlp.experts.mlp.w2", "ffn_down_exps.weight"},
  };
  return renamed(name, parts);
}

std::string jina_name(const std::string& name) {
  static const Parts parts = {
      {"embeddings.word_embeddings", "token_embd"},
      {"embeddings.token_type_embeddings", "token_types"},
      {"embeddings.LayerNorm", "token_embd_norm"},
      {"encoder.layer.", "blk."},
      {"attention.self.query", "attn_q"},
      {"attention.self.key", "attn_k"},
      {"attention.self.value", "attn_v"},
      {"attention.self.layer_norm_q", "attn_q_norm"},
      {"attention.self.layer_norm_k", "attn_k_norm"},
      {"attention.output.dense", "attn_output"},
      {"attention.output.LayerNorm", "attn_output_norm"},
      {"layer_norm_1", "attn_norm_2"},
      {"layer_norm_2", "layer_output_norm"},
      {"mlp.layernorm", "layer_output_norm"},
      {"mlp.gated_layers", "ffn_up"},
      {"mlp.up_gated_layer", "ffn_up"},
      {"mlp.wo", "ffn_down"},
      {"mlp.down_layer", "ffn_down"},
  };
  return renamed(name, parts);
}

// (experts, rows, columns) with the last two axes swapped.
Floats swapped(const Floats& values, int64_t experts, int64_t rows, int64_t columns) {
  Floats result(values.size());
  for (int64_t e = 0; e < experts; ++e) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        result[static_cast<size_t>((e * columns + j) * rows + i)] =
            values[static_cast<size_t>((e * rows + i) * columns + j)];
      }
    }
  }
  return result;
}

std::string bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

void put_thirteen_words(GgufFile& file) {
  std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  while (words.size() < 13) words.push_back(fmt::format("\u2581w{}", words.size()));
  file.text("tokenizer.ggml.model", "bert").texts("tokenizer.ggml.tokens", words);
}

GgufFile nomic_file(const Json& config, const Tensors& tensors) {
  GgufFile file;
  const auto number = [&](const std::string& key, const char* from) {
    file.number("nomic-bert-moe." + key, static_cast<uint32_t>(config.get_int(from)));
  };
  file.text("general.architecture", "nomic-bert-moe");
  number("context_length", "n_positions");
  number("embedding_length", "n_embd");
  number("feed_forward_length", "n_inner");
  number("block_count", "n_layer");
  number("attention.head_count", "n_head");
  number("expert_count", "num_experts");
  number("expert_used_count", "moe_top_k");
  number("moe_every_n_layers", "moe_every_n_layers");
  number("rope.freq_base", "rotary_emb_base");
  file.real("nomic-bert-moe.attention.layer_norm_epsilon",
            static_cast<float>(config.get_float("layer_norm_epsilon")));
  file.flag("nomic-bert-moe.attention.causal", false).number("nomic-bert-moe.pooling_type", 1);
  put_thirteen_words(file);
  const int64_t experts = config.get_int("num_experts");
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with("experts.bias")) continue;
    std::vector<int64_t> shape = tensor.shape;
    Floats values = tensor.values;
    if (name.find("experts.mlp") != name.npos) {
      shape = {experts, shape[0] / experts, shape[1]};
      if (name.ends_with("w2")) {
        values = swapped(values, experts, shape[1], shape[2]);
        std::swap(shape[1], shape[2]);
      }
    }
    file.tensor(nomic_name(name), shape, bytes_of(values));
  }
  return file;
}

// Earlier converters split the matrix of gate and up; later ones write it as it is.
GgufFile jina_file(const Json& config, const Tensors& tensors, bool split) {
  GgufFile file;
  const auto number = [&](const std::string& key, const char* from) {
    file.number("jina-bert-v2." + key, static_cast<uint32_t>(config.get_int(from)));
  };
  file.text("general.architecture", "jina-bert-v2");
  number("context_length", "max_position_embeddings");
  number("embedding_length", "hidden_size");
  number("feed_forward_length", "intermediate_size");
  number("block_count", "num_hidden_layers");
  number("attention.head_count", "num_attention_heads");
  file.real("jina-bert-v2.attention.layer_norm_epsilon",
            static_cast<float>(config.get_float("layer_norm_eps")));
  file.flag("jina-bert-v2.attention.causal", false).number("jina-bert-v2.pooling_type", 1);
  put_thirteen_words(file);
  for (const auto& [name, tensor] : tensors) {
    const bool up_first = name.find("up_gated_layer") != name.npos;
    if (!split || (!up_first && name.find("gated_layers") == name.npos)) {
      file.tensor(jina_name(name), tensor.shape, bytes_of(tensor.values));
      continue;
    }
    const std::vector<int64_t> shape = {tensor.shape[0] / 2, tensor.shape[1]};
    const std::span<const float> all(tensor.values);
    const auto first = all.first(all.size() / 2), second = all.subspan(all.size() / 2);
    const std::string up = jina_name(name);
    file.tensor(up, shape, bytes_of(up_first ? first : second));
    file.tensor(replaced(up, "ffn_up", "ffn_gate"), shape, bytes_of(up_first ? second : first));
  }
  return file;
}

Floats embedding_of(const fs::path& folder, const Json& golden) {
  std::vector<int32_t> ids;
  for (const int64_t id : golden.get_ints("ids")) ids.push_back(static_cast<int32_t>(id));
  const auto program = std::make_shared<const mil::Model>(
      models::build_encoder(folder, {.compute = models::BuildOptions::Compute::Float32Direct}));
  mil::verify(program->program);
  const auto pool = std::make_shared<ThreadPool>(1);
  runtime::EncoderModel model(program, pool, {.compute = {.precision = engine::Precision::Exact}});
  const std::vector<runtime::EncoderText> texts = {{ids, {}, 0, 0}};
  return model.run(texts).front();
}

void expect_same_embedding(const Json& golden, const Tensors& tensors, const GgufFile& file) {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  write_folder(dir / "folder", golden, tensors);
  file.write(dir / "m.gguf");
  const Floats expected = embedding_of(dir / "folder", golden);
  const Floats found = embedding_of(app::gguf_folder(dir / "m.gguf"), golden);
  ASSERT_EQ(found.size(), expected.size());
  // The format's programs give embeddings of length 1.
  double length = 0;
  for (const float value : expected) length += static_cast<double>(value) * value;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i] / std::sqrt(length), 1e-6) << i;
  }
}

TEST(GgufNomicExperts, GiveWhatTheCheckpointGives) {
  const Json goldens = Json::load(source_dir() / "pippin/models/encoder_goldens.json");
  const Json golden = goldens.at("cases").at(size_t{0});
  ASSERT_EQ(golden.at("config").get_string("model_type"), "nomic_bert");
  const Tensors tensors = tensors_of(golden);
  expect_same_embedding(golden, tensors, nomic_file(golden.at("config"), tensors));
}

TEST(GgufJinaBert, GivesWhatTheCheckpointGives) {
  const Json goldens = Json::load(source_dir() / "pippin/models/encoder_goldens.json");
  int found = 0;
  for (const Json& golden : goldens.at("cases").elements()) {
    const Json config = golden.at("config");
    // The format has GELU alone.
    if (config.get_string_or("feed_forward_type", "") != "geglu") continue;
    ++found;
    const Tensors tensors = tensors_of(golden);
    for (const bool split : {true, false}) {
      SCOPED_TRACE(
          fmt::format("{} heads, split: {}", config.get_int("num_attention_heads"), split));
      expect_same_embedding(golden, tensors, jina_file(config, tensors, split));
    }
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace pippin
