// Nomic Embed 2 as a GGUF: experts without gates, whose result has no bias there.
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

// The names of llama.cpp's converter.
std::string gguf_name(std::string name) {
  const std::pair<const char*, const char*> kParts[] = {
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
  for (const auto& [from, to] : kParts) name = replaced(std::move(name), from, to);
  return name;
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

GgufFile gguf_of(const Json& config, const Tensors& tensors) {
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
  std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  while (words.size() < 13) words.push_back(fmt::format("\u2581w{}", words.size()));
  file.text("tokenizer.ggml.model", "bert").texts("tokenizer.ggml.tokens", words);
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
    file.tensor(gguf_name(name), shape,
                {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  return file;
}

TEST(GgufNomicExperts, GiveWhatTheCheckpointGives) {
  const Json goldens = Json::load(source_dir() / "pippin/models/encoder_goldens.json");
  const Json golden = goldens.at("cases").at(size_t{0});
  ASSERT_EQ(golden.at("config").get_string("model_type"), "nomic_bert");
  const Tensors tensors = tensors_of(golden);
  const TempDir dir;
  fs::create_directory(dir / "folder");
  write_folder(dir / "folder", golden, tensors);
  gguf_of(golden.at("config"), tensors).write(dir / "m.gguf");
  std::vector<int32_t> ids;
  for (const int64_t id : golden.get_ints("ids")) ids.push_back(static_cast<int32_t>(id));
  const auto embedding = [&](const fs::path& folder) {
    const auto program = std::make_shared<const mil::Model>(
        models::build_encoder(folder, {.compute = models::BuildOptions::Compute::Float32Direct}));
    mil::verify(program->program);
    const auto pool = std::make_shared<ThreadPool>(1);
    runtime::EncoderModel model(program, pool,
                                {.compute = {.precision = engine::Precision::Exact}});
    const std::vector<runtime::EncoderText> texts = {{ids, {}, 0, 0}};
    return model.run(texts).front();
  };
  const std::vector<float> expected = embedding(dir / "folder");
  const std::vector<float> found = embedding(app::gguf_folder(dir / "m.gguf"));
  ASSERT_EQ(found.size(), expected.size());
  // The format's programs give embeddings of length 1.
  double length = 0;
  for (const float value : expected) length += static_cast<double>(value) * value;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i] / std::sqrt(length), 1e-6) << i;
  }
}

}  // namespace
}  // namespace pippin
