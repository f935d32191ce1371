// GGUF files of encoders: Hugging Face's goldens, written as llama.cpp's converter does, compared
// with the goldens; their tokenizers; unsupported files.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/tokenizers/tokenizer.h"
#include "tests/encoder_testing.h"
#include "tests/gguf_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
namespace family = families::encoder;
using models::BuildOptions;
using testing_encoders::cosine;
using testing_encoders::difference;
using testing_encoders::difference_at_tokens;
using testing_encoders::RunningEncoder;
using testing_encoders::Texts;
using testing_gguf::GgufFile;

using Names = std::map<std::string, std::string>;

// A name in a checkpoint, with LAYER for a layer's number, and its name in the format.
const Names kBert = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"encoder.layer.LAYER.attention.self.query", "blk.LAYER.attn_q"},
    {"encoder.layer.LAYER.attention.self.key", "blk.LAYER.attn_k"},
    {"encoder.layer.LAYER.attention.self.value", "blk.LAYER.attn_v"},
    {"encoder.layer.LAYER.attention.output.dense", "blk.LAYER.attn_output"},
    {"encoder.layer.LAYER.attention.output.LayerNorm", "blk.LAYER.attn_output_norm"},
    {"encoder.layer.LAYER.intermediate.dense", "blk.LAYER.ffn_up"},
    {"encoder.layer.LAYER.output.dense", "blk.LAYER.ffn_down"},
    {"encoder.layer.LAYER.output.LayerNorm", "blk.LAYER.layer_output_norm"},
};
const Names kNomicBert = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"emb_ln", "token_embd_norm"},
    {"encoder.layers.LAYER.attn.Wqkv", "blk.LAYER.attn_qkv"},
    {"encoder.layers.LAYER.attn.out_proj", "blk.LAYER.attn_output"},
    {"encoder.layers.LAYER.norm1", "blk.LAYER.attn_output_norm"},
    {"encoder.layers.LAYER.mlp.fc11", "blk.LAYER.ffn_up"},
    {"encoder.layers.LAYER.mlp.fc12", "blk.LAYER.ffn_gate"},
    {"encoder.layers.LAYER.mlp.fc2", "blk.LAYER.ffn_down"},
    {"encoder.layers.LAYER.norm2", "blk.LAYER.layer_output_norm"},
};
const Names kDecoder = {
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"layers.LAYER.input_layernorm", "blk.LAYER.attn_norm"},
    {"layers.LAYER.post_attention_layernorm", "blk.LAYER.ffn_norm"},
    {"layers.LAYER.self_attn.q_proj", "blk.LAYER.attn_q"},
    {"layers.LAYER.self_attn.k_proj", "blk.LAYER.attn_k"},
    {"layers.LAYER.self_attn.v_proj", "blk.LAYER.attn_v"},
    {"layers.LAYER.self_attn.o_proj", "blk.LAYER.attn_output"},
    {"layers.LAYER.self_attn.q_norm", "blk.LAYER.attn_q_norm"},
    {"layers.LAYER.self_attn.k_norm", "blk.LAYER.attn_k_norm"},
    {"layers.LAYER.mlp.gate_proj", "blk.LAYER.ffn_gate"},
    {"layers.LAYER.mlp.up_proj", "blk.LAYER.ffn_up"},
    {"layers.LAYER.mlp.down_proj", "blk.LAYER.ffn_down"},
};
const Names kT5 = {
    {"shared", "token_embd"},
    {"lm_head", "output"},
    {"encoder.final_layer_norm", "enc.output_norm"},
    {"decoder.final_layer_norm", "dec.output_norm"},
    {"encoder.block.LAYER.layer.0.layer_norm", "enc.blk.LAYER.attn_norm"},
    {"encoder.block.LAYER.layer.0.SelfAttention.q", "enc.blk.LAYER.attn_q"},
    {"encoder.block.LAYER.layer.0.SelfAttention.k", "enc.blk.LAYER.attn_k"},
    {"encoder.block.LAYER.layer.0.SelfAttention.v", "enc.blk.LAYER.attn_v"},
    {"encoder.block.LAYER.layer.0.SelfAttention.o", "enc.blk.LAYER.attn_o"},
    {"encoder.block.LAYER.layer.0.SelfAttention.relative_attention_bias",
     "enc.blk.LAYER.attn_rel_b"},
    {"encoder.block.LAYER.layer.1.layer_norm", "enc.blk.LAYER.ffn_norm"},
    {"encoder.block.LAYER.layer.1.DenseReluDense.wi", "enc.blk.LAYER.ffn_up"},
    {"encoder.block.LAYER.layer.1.DenseReluDense.wi_0", "enc.blk.LAYER.ffn_gate"},
    {"encoder.block.LAYER.layer.1.DenseReluDense.wi_1", "enc.blk.LAYER.ffn_up"},
    {"encoder.block.LAYER.layer.1.DenseReluDense.wo", "enc.blk.LAYER.ffn_down"},
    {"decoder.block.LAYER.layer.0.layer_norm", "dec.blk.LAYER.attn_norm"},
    {"decoder.block.LAYER.layer.0.SelfAttention.q", "dec.blk.LAYER.attn_q"},
    {"decoder.block.LAYER.layer.0.SelfAttention.k", "dec.blk.LAYER.attn_k"},
    {"decoder.block.LAYER.layer.0.SelfAttention.v", "dec.blk.LAYER.attn_v"},
    {"decoder.block.LAYER.layer.0.SelfAttention.o", "dec.blk.LAYER.attn_o"},
    {"decoder.block.LAYER.layer.0.SelfAttention.relative_attention_bias",
     "dec.blk.LAYER.attn_rel_b"},
    {"decoder.block.LAYER.layer.1.layer_norm", "dec.blk.LAYER.cross_attn_norm"},
    {"decoder.block.LAYER.layer.1.EncDecAttention.q", "dec.blk.LAYER.cross_attn_q"},
    {"decoder.block.LAYER.layer.1.EncDecAttention.k", "dec.blk.LAYER.cross_attn_k"},
    {"decoder.block.LAYER.layer.1.EncDecAttention.v", "dec.blk.LAYER.cross_attn_v"},
    {"decoder.block.LAYER.layer.1.EncDecAttention.o", "dec.blk.LAYER.cross_attn_o"},
    {"decoder.block.LAYER.layer.2.layer_norm", "dec.blk.LAYER.ffn_norm"},
    {"decoder.block.LAYER.layer.2.DenseReluDense.wi", "dec.blk.LAYER.ffn_up"},
    {"decoder.block.LAYER.layer.2.DenseReluDense.wi_0", "dec.blk.LAYER.ffn_gate"},
    {"decoder.block.LAYER.layer.2.DenseReluDense.wi_1", "dec.blk.LAYER.ffn_up"},
    {"decoder.block.LAYER.layer.2.DenseReluDense.wo", "dec.blk.LAYER.ffn_down"},
};

// "blk.3.attn_q" for "encoder.layer.3.attention.self.query"; empty for tensors that the format
// leaves out.
std::string gguf_name(const Names& names, const std::string& module) {
  const auto exact = names.find(module);
  if (exact != names.end()) return exact->second;
  const size_t digit = module.find_first_of("0123456789");
  if (digit == module.npos) return "";
  const size_t end = module.find('.', digit);
  const std::string number = module.substr(digit, end - digit);
  const auto found = names.find(module.substr(0, digit) + "LAYER" + module.substr(end));
  if (found == names.end()) return "";
  std::string name = found->second;
  return name.replace(name.find("LAYER"), 5, number);
}

std::string text_of(const TensorInfo& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// The form of the layers' matrices in the file: unchanged, as Q8_0, or as the dequantized values of
// Q8_0.
enum class As { Values, Blocks, BlockValues };

template <typename T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string q8_0(const std::string& floats, As as) {
  std::string out;
  for (size_t block = 0; block < floats.size(); block += 32 * sizeof(float)) {
    float values[32];
    std::memcpy(values, floats.data() + block, sizeof(values));
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    const float16 scale = to_float16(most / 127);
    if (as == As::Blocks) append(out, scale);
    for (const float value : values) {
      const auto code = static_cast<int8_t>(std::lround(most > 0 ? value / most * 127 : 0));
      as == As::Blocks ? append(out, code) : append(out, to_float(scale) * code);
    }
  }
  return out;
}

using Change = std::function<std::string(const TensorInfo& tensor)>;  // its bytes, as F32

// Adds the tensors of a checkpoint, with the layers' matrices in the given form.
void put_tensors(GgufFile& file, const fs::path& folder, const Names& names, As as = As::Values,
                 int64_t skipped_positions = 0, const Change& change = text_of) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  for (const std::string& full : checkpoint.names()) {
    const TensorInfo& tensor = checkpoint.at(full);
    ASSERT_EQ(tensor.dtype, Dtype::F32) << full;
    std::string name = full;
    for (const char* base : {"bert.", "roberta."}) {
      if (name.starts_with(base)) name = name.substr(std::strlen(base));
    }
    const size_t dot = name.rfind('.');
    const std::string to = gguf_name(names, name.substr(0, dot));
    if (to.empty()) continue;
    std::vector<int64_t> shape = tensor.shape;
    std::string bytes = change(tensor);
    if (to == "position_embd") {
      shape[0] -= skipped_positions;
      bytes.erase(0, static_cast<size_t>(skipped_positions * shape[1]) * sizeof(float));
    }
    const bool matrix = to == "token_embd" || to == "output" ||
                        (to.find("blk.") != to.npos && to.find("rel_b") == to.npos);
    const bool packed = as != As::Values && matrix && shape.size() == 2 && shape[1] % 32 == 0;
    if (packed) bytes = q8_0(bytes, as);
    file.tensor(to + name.substr(dot), shape, bytes, packed && as == As::Blocks ? 8 : 0);
  }
}

// Adds sizes under one architecture's keys, read from the configuration.
void put_sizes(GgufFile& file, const std::string& architecture, const Json& config,
               const std::map<std::string, std::string>& keys) {
  file.text("general.architecture", architecture);
  for (const auto& [to, from] : keys) {
    const std::string key = architecture + "." + to;
    if (to.find("epsilon") != to.npos || to.find("freq_base") != to.npos) {
      file.real(key, static_cast<float>(config.get_float(from)));
    } else {
      file.number(key, static_cast<uint32_t>(config.get_int(from)));
    }
  }
}

const std::vector<std::string> kWords = {"[PAD]",     "[UNK]",     "[CLS]", "[SEP]", "[MASK]",
                                         "\u2581the", "\u2581cat", "s",     "ing",   "\u2581,"};

// Padded to the number of rows of the embedding.
std::vector<std::string> filled(std::vector<std::string> tokens, size_t count) {
  while (tokens.size() < count) tokens.push_back(fmt::format("\u2581w{}", tokens.size()));
  return tokens;
}

void put_words(GgufFile& file) {
  const std::vector<std::string> tokens = filled(kWords, 160);
  std::vector<uint32_t> kinds(tokens.size(), 1);
  std::fill_n(kinds.begin(), 5, 3);
  file.text("tokenizer.ggml.model", "bert").texts("tokenizer.ggml.tokens", tokens);
  file.numbers("tokenizer.ggml.token_type", kinds);
  file.number("tokenizer.ggml.cls_token_id", 2).number("tokenizer.ggml.seperator_token_id", 3);
}

// XLM-RoBERTa's, or T5's.
void put_unigram(GgufFile& file, bool roberta) {
  std::vector<std::string> tokens = roberta
                                        ? std::vector<std::string>{"<s>", "<pad>", "</s>", "<unk>"}
                                        : std::vector<std::string>{"<pad>", "</s>", "<unk>"};
  std::vector<uint32_t> kinds(tokens.size(), 3);
  kinds.back() = 2;
  tokens.insert(tokens.end(), {"\u2581", "\u2581the", "\u2581cat", "s", "a", "t"});
  tokens = filled(tokens, 160);
  kinds.resize(tokens.size(), 1);
  std::vector<float> scores(tokens.size());
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i) / 16;
  file.text("tokenizer.ggml.model", "t5").texts("tokenizer.ggml.tokens", tokens);
  file.numbers("tokenizer.ggml.token_type", kinds).reals("tokenizer.ggml.scores", scores);
  file.flag("tokenizer.ggml.add_space_prefix", true);
  file.flag("tokenizer.ggml.remove_extra_whitespaces", true);
  if (!roberta) return;
  file.number("tokenizer.ggml.bos_token_id", 0).number("tokenizer.ggml.eos_token_id", 2);
  file.number("tokenizer.ggml.unknown_token_id", 3).number("tokenizer.ggml.padding_token_id", 1);
  file.flag("tokenizer.ggml.add_bos_token", true).flag("tokenizer.ggml.add_eos_token", true);
}

GgufFile bert_file(const fs::path& folder, uint32_t pooling, As as = As::Values,
                   bool pooler = true) {
  const Json config = Json::load(folder / "config.json");
  const bool roberta = config.get_string("model_type") != "bert";
  const int64_t skipped = roberta ? config.get_int("pad_token_id") + 1 : 0;
  GgufFile file;
  put_sizes(file, "bert", config,
            {{"embedding_length", "hidden_size"},
             {"feed_forward_length", "intermediate_size"},
             {"block_count", "num_hidden_layers"},
             {"attention.head_count", "num_attention_heads"},
             {"attention.layer_norm_epsilon", "layer_norm_eps"}});
  file.number("bert.context_length",
              static_cast<uint32_t>(config.get_int("max_position_embeddings") - skipped));
  file.flag("bert.attention.causal", false).number("bert.pooling_type", pooling);
  roberta ? put_unigram(file, true) : put_words(file);
  Names names = kBert;
  if (pooling == 4) {
    names.emplace("classifier", "cls.output");
    names.emplace("classifier.dense", "cls");
    names.emplace("classifier.out_proj", "cls.output");
    if (pooler) names.emplace("pooler.dense", "cls");
  }
  put_tensors(file, folder, names, as, skipped);
  return file;
}

GgufFile nomic_file(const fs::path& folder, As as) {
  GgufFile file;
  put_sizes(file, "nomic-bert", Json::load(folder / "config.json"),
            {{"context_length", "n_positions"},
             {"embedding_length", "n_embd"},
             {"feed_forward_length", "n_inner"},
             {"block_count", "n_layer"},
             {"attention.head_count", "n_head"},
             {"rope.freq_base", "rotary_emb_base"},
             {"attention.layer_norm_epsilon", "layer_norm_epsilon"}});
  file.number("nomic-bert.pooling_type", 1);
  put_words(file);
  put_tensors(file, folder, kNomicBert, as);
  return file;
}

GgufFile t5_file(const fs::path& folder, const std::string& architecture, As as) {
  const Json config = Json::load(folder / "config.json");
  GgufFile file;
  put_sizes(file, architecture, config,
            {{"embedding_length", "d_model"},
             {"feed_forward_length", "d_ff"},
             {"block_count", "num_layers"},
             {"attention.head_count", "num_heads"},
             {"attention.key_length", "d_kv"},
             {"attention.relative_buckets_count", "relative_attention_num_buckets"},
             {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"}});
  file.number(architecture + ".context_length", 512);
  if (architecture == "t5") {
    file.number("t5.decoder_block_count",
                static_cast<uint32_t>(config.get_int("num_decoder_layers")));
    file.number("t5.decoder_start_token_id", 0);
  }
  put_unigram(file, false);
  put_tensors(file, folder, kT5, as);
  return file;
}

void put_decoder_sizes(GgufFile& file, const std::string& architecture, const Json& config) {
  put_sizes(file, architecture, config,
            {{"context_length", "max_position_embeddings"},
             {"embedding_length", "hidden_size"},
             {"feed_forward_length", "intermediate_size"},
             {"block_count", "num_hidden_layers"},
             {"attention.head_count", "num_attention_heads"},
             {"attention.head_count_kv", "num_key_value_heads"},
             {"attention.key_length", "head_dim"},
             {"rope.freq_base", "rope_theta"},
             {"attention.layer_norm_rms_epsilon", "rms_norm_eps"}});
  std::vector<std::string> tokens(160);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = i < 94 ? std::string(1, static_cast<char>('!' + i)) : fmt::format("w{}", i);
  }
  file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", tokens);
  file.texts("tokenizer.ggml.merges", {});
}

GgufFile qwen3_file(const fs::path& folder, As as) {
  GgufFile file;
  put_decoder_sizes(file, "qwen3", Json::load(folder / "config.json"));
  file.number("qwen3.pooling_type", 3);
  put_tensors(file, folder, kDecoder, as);
  return file;
}

// Norm weights are larger by 1, and sliding layers are listed one by one.
GgufFile gemma_file(const fs::path& folder) {
  const Json config = Json::load(folder / "config.json");
  GgufFile file;
  put_decoder_sizes(file, "gemma-embedding", config);
  const auto window = static_cast<uint32_t>(config.get_int("sliding_window"));
  file.number("gemma-embedding.attention.sliding_window", window);
  file.number("gemma-embedding.pooling_type", 1);
  std::vector<uint32_t> slides;
  for (const std::string& type : config.at("layer_types").as_strings()) {
    slides.push_back(type == "sliding_attention" ? 1 : 0);
  }
  file.numbers("gemma-embedding.attention.sliding_window_pattern", slides);
  Names names = kDecoder;
  names["layers.LAYER.post_attention_layernorm"] = "blk.LAYER.post_attention_norm";
  names["layers.LAYER.pre_feedforward_layernorm"] = "blk.LAYER.ffn_norm";
  names["layers.LAYER.post_feedforward_layernorm"] = "blk.LAYER.post_ffw_norm";
  put_tensors(file, folder, names, As::Values, 0, [](const TensorInfo& tensor) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    if (tensor.name.ends_with("norm.weight")) {
      for (float& value : values) value += 1;
    }
    return std::string(reinterpret_cast<const char*>(values.data()), tensor.bytes.size());
  });
  return file;
}

struct Case {
  const char* golden;
  bool whole;  // the golden has only modules that the format has: a pooling and length 1
  std::function<GgufFile(const fs::path& folder, As as)> file;
};

std::function<GgufFile(const fs::path& folder, As as)> bert_with(uint32_t pooling) {
  return [pooling](const fs::path& folder, As as) { return bert_file(folder, pooling, as); };
}

class GgufEncoders : public testing::TestWithParam<Case> {};

TEST_P(GgufEncoders, GiveWhatTheirCheckpointsDo) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam().golden);
  const Texts texts(folder);
  const TempDir dir;
  const auto run = [&](As as, const char* output) {
    const fs::path path = dir / fmt::format("m{}.gguf", static_cast<int>(as));
    GetParam().file(folder, as).write(path);
    EXPECT_TRUE(app::is_text_encoder(app::gguf_folder(path)));
    const mil::Model model = models::build_encoder(
        app::gguf_folder(path), {.compute = BuildOptions::Compute::Float32Direct});
    mil::verify(model.program);
    return RunningEncoder(model, engine::Precision::Exact).run(texts, output);
  };
  const auto states = run(As::Values, family::kStates);
  EXPECT_LE(difference_at_tokens(texts, states, texts.doubles("last_hidden_state")), 2e-5);
  if (GetParam().whole) {
    const auto found = run(As::Values, family::kEmbedding);
    EXPECT_LE(difference(found, texts.doubles("sentence_embedding")), 1e-5);
  }
  EXPECT_LE(difference_at_tokens(texts, run(As::Blocks, family::kStates),
                                 run(As::BlockValues, family::kStates)),
            1e-4);
}

TEST_P(GgufEncoders, BecomePackages) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam().golden);
  const Texts texts(folder);
  const TempDir dir;
  GetParam().file(folder, As::Values).write(dir / "m.gguf");
  app::convert(dir / "m.gguf", dir / "m.mlpackage", {});
  const mil::Model model = mil::read_package(dir / "m.mlpackage");
  RunningEncoder encoder(model);
  const auto found = encoder.run(texts, family::kEmbedding);
  const mil::Model direct = models::build_encoder(
      app::gguf_folder(dir / "m.gguf"), {.compute = BuildOptions::Compute::Float32Direct});
  const auto expected = RunningEncoder(direct).run(texts, family::kEmbedding);
  ASSERT_EQ(found.size(), expected.size());
  const size_t width = expected.size() / static_cast<size_t>(texts.rows);
  for (size_t row = 0; row < static_cast<size_t>(texts.rows); ++row) {
    EXPECT_GE(cosine(&found[row * width], &expected[row * width], width), 0.9999);
  }
  // It includes the tokenizer.
  const std::vector<std::string> one = {"the cats"};
  const auto by_package =
      app::TextEncoder::open({.path = (dir / "m.mlpackage").string()}).embed(one);
  const auto by_file = app::TextEncoder::open({.path = (dir / "m.gguf").string()}).embed(one);
  EXPECT_EQ(by_package.tokens, by_file.tokens);
}

INSTANTIATE_TEST_SUITE_P(
    Models, GgufEncoders,
    testing::Values(
        Case{"bert_mean", true, bert_with(1)}, Case{"bert_cls", true, bert_with(2)},
        Case{"xlm_roberta_mean", true, bert_with(1)}, Case{"nomic_bert_mean", true, nomic_file},
        Case{"qwen3_lasttoken", true, qwen3_file},
        Case{"gemma3_embed", false, [](const fs::path& folder, As) { return gemma_file(folder); }},
        Case{"t5_encoder_mean", false,
             [](const fs::path& folder, As as) { return t5_file(folder, "t5encoder", as); }}),
    [](const auto& test) { return std::string(test.param.golden); });

TEST(GgufEncoderDecoders, WriteWhatTheirCheckpointsDo) {
  for (const char* name : {"t5", "flan_t5"}) {
    PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + name);
    const NpzFile golden = NpzFile::open(folder / "golden.npz");
    const NpyArray source = golden.read("input_ids"), written = golden.read("gen_ids");
    const TempDir dir;
    t5_file(folder, "t5", As::Values).write(dir / "m.gguf");
    const fs::path made = app::gguf_folder(dir / "m.gguf");
    EXPECT_EQ(models::text_task(made), models::TextTask::EncodeDecode);
    const mil::Model program =
        models::build_encoder_decoder(made, {.compute = BuildOptions::Compute::Float32Direct});
    ThreadPool pool(1);
    const auto model =
        std::make_shared<runtime::EncoderDecoderModel>(program, pool, runtime::LoadOptions{});
    const auto sequence = model->new_sequence();
    std::span<const float> logits = sequence->prefill(source.as<int32_t>());
    for (const int32_t id : written.as<int32_t>()) {
      ASSERT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), id) << name;
      logits = sequence->decode(id);
    }
  }
}

class GgufScores : public testing::TestWithParam<const char*> {};

TEST_P(GgufScores, AreTheLogits) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam());
  const Texts texts(folder);
  const TempDir dir;
  bert_file(folder, 4).write(dir / "m.gguf");
  const mil::Model model = models::build_encoder(app::gguf_folder(dir / "m.gguf"),
                                                 {.compute = BuildOptions::Compute::Float32Direct});
  RunningEncoder encoder(model);
  EXPECT_LE(difference(encoder.run(texts, family::kLogits), texts.doubles("logits")), 1e-5);
  const auto opened = app::TextEncoder::open({.path = (dir / "m.gguf").string()});
  const std::vector<std::string> documents = {"cats", "the cat"};
  EXPECT_EQ(opened.score("the cats", documents).scores.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Models, GgufScores, testing::Values("bert_cross", "xlm_roberta_cross"));

// Without the pooler, which converters leave out, the head uses the first token's state itself.
TEST(GgufEncoderFiles, AHeadCanStandAlone) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures2/bert_cross");
  const Texts texts(folder);
  const TempDir dir;
  const auto run = [&](const GgufFile& file, const char* name, const char* output) {
    file.write(dir / name);
    const mil::Model model = models::build_encoder(
        app::gguf_folder(dir / name), {.compute = BuildOptions::Compute::Float32Direct});
    return RunningEncoder(model).run(texts, output);
  };
  const auto logits =
      run(bert_file(folder, 4, As::Values, /*pooler=*/false), "a.gguf", family::kLogits);
  const auto states = run(bert_file(folder, 2), "b.gguf", family::kStates);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const auto floats = [&](const char* name) {
    const ByteSpan bytes = checkpoint.at(name).bytes;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> weight = floats("classifier.weight"), bias = floats("classifier.bias");
  ASSERT_EQ(std::ssize(logits), texts.rows);
  for (int64_t row = 0; row < texts.rows; ++row) {
    const auto* const first = &states[static_cast<size_t>(row * texts.length) * weight.size()];
    const double expected =
        std::inner_product(weight.begin(), weight.end(), first, double{bias[0]});
    EXPECT_NEAR(logits[static_cast<size_t>(row)], expected, 1e-5);
  }
}

TEST(GgufTokenizers, Words) {
  const TempDir dir;
  GgufFile file;
  put_words(file);
  const auto tokens = [&](const GgufFile& one) {
    const std::string bytes = one.all();
    const GgufContent content =
        parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf");
    return Tokenizer::from_json(tokenizers::gguf_tokenizer_file(content, "m.gguf").text, "t");
  };
  const Tokenizer lower = tokens(file);
  EXPECT_EQ(lower.encode("The CATS, the catsing dog"),
            (std::vector<int32_t>{2, 5, 6, 7, 9, 5, 6, 7, 8, 1, 3}));
  EXPECT_EQ(lower.encode("[MASK] cat"), (std::vector<int32_t>{2, 4, 6, 3}));
  const auto pair = lower.encode_texts("the", "cat cat", 16);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{2, 5, 3, 6, 6, 3}));
  EXPECT_EQ(pair.types, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(lower.decode(std::vector<int32_t>{2, 5, 6, 7, 3}), "the cats");
  // Older files do not give kinds of tokens; a vocabulary with capital letters is a cased one.
  GgufFile cased;
  cased.text("tokenizer.ggml.model", "bert");
  cased.texts("tokenizer.ggml.tokens",
              {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581The", "\u2581the"});
  EXPECT_EQ(tokens(cased).encode("The the THE"), (std::vector<int32_t>{2, 4, 5, 1, 3}));
  cased.flag("tokenizer.ggml.normalizer.lowercase", true);
  EXPECT_EQ(tokens(cased).encode("The the"), (std::vector<int32_t>{2, 5, 5, 3}));
}

TEST(GgufTokenizers, Unigram) {
  const auto tokens = [](const GgufFile& one) {
    const std::string bytes = one.all();
    const GgufContent content =
        parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf");
    return Tokenizer::from_json(tokenizers::gguf_tokenizer_file(content, "m.gguf").text, "t");
  };
  GgufFile t5;
  put_unigram(t5, false);
  EXPECT_EQ(tokens(t5).encode("the  cats "), (std::vector<int32_t>{4, 5, 6, 1}));
  EXPECT_EQ(tokens(t5).encode("at"), (std::vector<int32_t>{3, 7, 8, 1}));
  EXPECT_EQ(tokens(t5).encode("x the"), (std::vector<int32_t>{3, 2, 4, 1}));
  EXPECT_EQ(tokens(t5).decode(std::vector<int32_t>{4, 5, 6, 1}), "the cats");
  GgufFile roberta;
  put_unigram(roberta, true);
  EXPECT_EQ(tokens(roberta).encode("the"), (std::vector<int32_t>{0, 5, 2}));
  const auto pair = tokens(roberta).encode_texts("the", "cat", 16);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{0, 5, 2, 2, 6, 2}));
  EXPECT_EQ(pair.types, std::vector<int32_t>(6, 0));
}

TEST(GgufEncoderFiles, SayWhatTheyDoNotRead) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures2/bert_mean");
  const TempDir dir;
  const auto expect = [&](GgufFile file, ErrorCode code, const char* text) {
    static int number = 0;
    const fs::path path = dir / fmt::format("m{}.gguf", number++);
    file.write(path);
    EXPECT_ERROR(app::gguf_folder(path), code, text);
  };
  expect(bert_file(folder, 9), ErrorCode::Unsupported,
         "bert.pooling_type: 9 is not known (known: 0 none, 1 mean, 2 cls, 3 last, 4 rank)");
  expect(bert_file(folder, 4), ErrorCode::InvalidFile, "cls.output.weight: no such matrix");
  expect(bert_file(folder, 1).number("bert.attention.head_count_kv", 2), ErrorCode::Unsupported,
         "bert.attention.head_count_kv: as many as there are heads");
  expect(bert_file(folder, 1).matrix("dense_2.weight"), ErrorCode::Unsupported,
         "dense_2.weight: layers after the pooling are not read");
  PIPPIN_SHARED_OR_SKIP(qwen3, "architectures2/qwen3_lasttoken");
  GgufFile rank;
  put_decoder_sizes(rank, "qwen3", Json::load(qwen3 / "config.json"));
  put_tensors(rank, qwen3, kDecoder);
  expect(GgufFile(rank).number("qwen3.pooling_type", 4), ErrorCode::InvalidFile,
         "cls.output.weight: no such matrix");
  expect(rank.flag("qwen3.attention.causal", false), ErrorCode::Unsupported,
         "qwen3.attention.causal: is supported for causal models only");
}

}  // namespace
}  // namespace pippin
