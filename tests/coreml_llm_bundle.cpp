#include "tests/coreml_llm_bundle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/io/npy.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/program.h"
#include "pippin/models/family/package_part.h"
#include "tests/coreml_llm_weights.h"
#include "tests/word_tokenizer.h"

namespace pippin::testing_models {
namespace {

namespace fs = std::filesystem;
using array::Array;

constexpr auto kHalf = mil::DataType::Float16;
constexpr int64_t kHidden = 32, kHeads = 4, kSliding = 8, kFull = 16, kInner = 24, kLayerWidth = 8;
constexpr int64_t kLayers = 8, kWords = 40;
constexpr double kEpsilon = 1e-6, kCap = 30;
constexpr const char* kTokens = "embed_tokens.weight";
constexpr const char* kTokensOfLayers = "embed_tokens_per_layer.weight";
// Layers 0, 2, 4 and 6 slide; the last two read the keys and values of layers 4 and 5.
bool is_full(int64_t layer) {
  return layer % 2 == 1;
}

constexpr const char* kConfig = R"({
  "model_type": "gemma4", "architectures": ["Gemma4ForConditionalGeneration"],
  "image_token_id": 37, "text_config": {
  "model_type": "gemma4_text", "attention_bias": false,
  "attention_k_eq_v": false, "enable_moe_block": false, "final_logit_softcapping": 30.0,
  "global_head_dim": 16, "head_dim": 8, "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 32, "hidden_size_per_layer_input": 8, "intermediate_size": 24,
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention",
                  "sliding_attention", "full_attention", "sliding_attention", "full_attention"],
  "max_position_embeddings": 128, "num_attention_heads": 4, "num_hidden_layers": 8,
  "num_key_value_heads": 1, "num_kv_shared_layers": 2, "rms_norm_eps": 1e-6,
  "rope_parameters": {
    "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0,
                       "rope_type": "proportional"},
    "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}},
  "sliding_window": 6, "tie_word_embeddings": true, "use_double_wide_mlp": false,
  "vocab_size": 40, "vocab_size_per_layer_input": 40},
  "vision_config": {
    "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 4, "num_hidden_layers": 2, "patch_size": 2, "position_embedding_size": 210,
    "pooling_kernel_size": 3, "rms_norm_eps": 1e-6}})";
constexpr const char* kProcessor = R"({
  "processor_class": "Gemma4Processor", "image_processor": {
    "image_processor_type": "Gemma4ImageProcessor", "patch_size": 2, "pooling_kernel_size": 3,
    "max_soft_tokens": 70}})";
const std::map<std::string, int32_t>& special_tokens() {
  static const std::map<std::string, int32_t> tokens = {
      {"<|image|>", 37}, {"<|image>", 38}, {"<image|>", 39}};
  return tokens;
}

// Rows of int8 numbers with a factor for each, as the bundle stores them.
struct Quantized {
  std::vector<int8_t> values;
  std::vector<float16> scales;
};

Quantized quantized_rows(int64_t rows, int64_t width, uint32_t seed) {
  Quantized table;
  std::mt19937 random(seed);
  for (int64_t row = 0; row < rows; ++row) {
    table.scales.push_back(to_float16(static_cast<float>(32 + random() % 32) / 64));
    for (int64_t i = 0; i < width; ++i) {
      table.values.push_back(static_cast<int8_t>(static_cast<int>(random() % 255) - 127));
    }
  }
  return table;
}

std::map<std::string, Quantized> tables() {
  return {{kTokens, quantized_rows(kWords, kHidden, 1)},
          {kTokensOfLayers, quantized_rows(kWords, kLayers * kLayerWidth, 2)}};
}

Array widened(const Array& x) {
  const int64_t missing = kFull - x.dim(3).constant();
  return missing == 0 ? x : array::concat({x, array::zeros(kHalf, {1, 1, 1, missing})}, 3);
}

// Of the tensors of the checkpoint.
std::map<std::string, std::vector<int64_t>> shapes() {
  std::map<std::string, std::vector<int64_t>> all;
  const auto add = [&](const std::string& at, const char* name, std::vector<int64_t> shape) {
    all[fmt::format("{}{}.weight", at, name)] = std::move(shape);
  };
  const std::string text = kTextPrefix, vision = kVisionPrefix;
  const auto add_layer = [&](const std::string& at, const char* ending, int64_t width,
                             int64_t inner, int64_t queries, int64_t head, int64_t keys) {
    const auto matrix = [&](const char* name, int64_t rows, int64_t columns) {
      add(at, fmt::format("{}{}", name, ending).c_str(), {rows, columns});
    };
    for (const char* norm : {"input_layernorm", "post_attention_layernorm",
                             "pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
      add(at, norm, {width});
    }
    matrix("self_attn.q_proj", queries, width);
    matrix("self_attn.o_proj", width, queries);
    add(at, "self_attn.q_norm", {head});
    if (keys > 0) {
      matrix("self_attn.k_proj", keys, width);
      matrix("self_attn.v_proj", keys, width);
      add(at, "self_attn.k_norm", {head});
    }
    matrix("mlp.gate_proj", inner, width);
    matrix("mlp.up_proj", inner, width);
    matrix("mlp.down_proj", width, inner);
  };
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string at = fmt::format("{}layers.{}.", text, i);
    const int64_t head = is_full(i) ? kFull : kSliding;
    add_layer(at, "", kHidden, kInner, kHeads * head, head, i < kLayers - 2 ? head : 0);
    add(at, "per_layer_input_gate", {kLayerWidth, kHidden});
    add(at, "per_layer_projection", {kHidden, kLayerWidth});
    add(at, "post_per_layer_input_norm", {kHidden});
    all[at + "layer_scalar"] = {1};
  }
  all[text + kTokens] = {kWords, kHidden};
  all[text + kTokensOfLayers] = {kWords, kLayers * kLayerWidth};
  add(text, "per_layer_model_projection", {kLayers * kLayerWidth, kHidden});
  add(text, "per_layer_projection_norm", {kLayerWidth});
  add(text, "norm", {kHidden});
  for (int64_t i = 0; i < kTowerLayers; ++i) {
    add_layer(fmt::format("{}encoder.layers.{}.", vision, i), ".linear", kTowerWidth, 12,
              kTowerWidth, kTowerWidth / kTowerHeads, kTowerWidth);
  }
  add(vision, "patch_embedder.input_proj", {kTowerWidth, kPatchNumbers});
  all[vision + "patch_embedder.position_embedding_table"] = {2, kPatchSide, kTowerWidth};
  add(kProjectorPrefix, "embedding_projection", {kHidden, kTowerWidth});
  return all;
}

struct Caches {
  std::vector<Array> keys, values;  // of a chunk's layers, in order
};

// The layers of a chunk under construction, for one token with caches or for a batch.
struct Chunk {
  int64_t tokens;
  BundleWeights weights;
  models::FunctionRecorder recorder;
  std::map<std::string, Array> inputs;
  Caches sliding, full;       // outputs
  std::vector<Array> shared;  // kv13_k, kv13_v, kv14_k, kv14_v

  Chunk(const fs::path& checkpoint, int64_t its_tokens)
      : tokens(its_tokens),
        weights(checkpoint, kTextPrefix, kHalf),
        recorder("main", mil::Opset::CoreML8) {}
  bool is_batch() const { return tokens > 1; }

  Array input(const std::string& name, std::vector<int64_t> dims) {
    const auto found = inputs.find(name);
    if (found != inputs.end()) return found->second;
    return inputs.emplace(name, recorder.input(name, kHalf, std::move(dims))).first->second;
  }
  Array normed(const Array& x, const std::string& name) { return weights.normed(x, name); }
  Array heads(const Array& x, const std::string& name, int64_t count, int64_t size) {
    const Array made = product(x, weights.get(name + ".weight"));
    return array::transpose(array::reshape(made, {1, tokens, count, size}), {0, 2, 1, 3});
  }
  Array layer(int64_t index, const Array& hidden, const Array& rows, int64_t own_slots);
  void attend_to(int64_t index, const Array& x, int64_t slots, Array& keys, Array& values);
};

// The keys and values of a layer, after the token's own.
void Chunk::attend_to(int64_t index, const Array& x, int64_t slots, Array& keys, Array& values) {
  const bool full_layer = is_full(index);
  const int64_t size = full_layer ? kFull : kSliding;
  const std::string at = fmt::format("layers.{}.self_attn.", index);
  const std::string kind = full_layer ? "full" : "sliding";
  const int64_t length = full_layer ? kBundleContext : kBundleWindow;
  Caches& made = full_layer ? full : sliding;
  const auto slot = std::ssize(made.keys);
  const Array cos = input(full_layer ? "cos_f" : "cos_s", {1, 1, tokens, size});
  const Array sin = input(full_layer ? "sin_f" : "sin_s", {1, 1, tokens, size});
  const Array k = turned(normed(heads(x, at + "k_proj", 1, size), at + "k_norm"), cos, sin);
  const Array v = rms(heads(x, at + "v_proj", 1, size));
  if (is_batch()) {
    made.keys.push_back(keys = k);
    made.values.push_back(values = v);
    return;
  }
  const auto updated = [&](const char* letter, const Array& newest) {
    const Array all = input(fmt::format("{}_{}_in", letter, kind), {slots, 1, length, kFull});
    const Array old = array::slice_axis(all, 0, slot, slot + 1);
    if (!full_layer) {
      return array::concat({array::slice_axis(old, 2, 1, length), widened(newest)}, 2);
    }
    const Array mask = input("update_mask", {1, 1, length, 1});
    return old * (mask * -1.0 + 1.0) + widened(newest) * mask;
  };
  made.keys.push_back(updated("K", k));
  made.values.push_back(updated("V", v));
  keys = array::slice_axis(made.keys.back(), 3, 0, size);
  values = array::slice_axis(made.values.back(), 3, 0, size);
}

Array Chunk::layer(int64_t index, const Array& hidden, const Array& rows, int64_t own_slots) {
  const bool full_layer = is_full(index);
  const int64_t size = full_layer ? kFull : kSliding;
  const int64_t length = is_batch() ? tokens : full_layer ? kBundleContext : kBundleWindow;
  const std::string at = fmt::format("layers.{}.", index);
  const Array x = normed(hidden, at + "input_layernorm");
  const Array cos = input(full_layer ? "cos_f" : "cos_s", {1, 1, tokens, size});
  const Array sin = input(full_layer ? "sin_f" : "sin_s", {1, 1, tokens, size});
  const Array q = turned(
      normed(heads(x, at + "self_attn.q_proj", kHeads, size), at + "self_attn.q_norm"), cos, sin);
  Array keys = q, values = q;
  if (index < kLayers - 2) {
    attend_to(index, x, own_slots, keys, values);
    if (index >= kLayers - 4) {
      shared.push_back(keys);
      shared.push_back(values);
    }
  } else if (!shared.empty()) {  // of this chunk
    keys = shared[full_layer ? 2 : 0];
    values = shared[full_layer ? 3 : 1];
  } else {
    const std::string name = full_layer ? "kv14_" : "kv13_";
    keys = input(name + "k", {1, 1, length, size});
    values = input(name + "v", {1, 1, length, size});
  }
  const char* const own_mask = full_layer ? "causal_mask_full" : "causal_mask_sliding";
  const Array mask = input(is_batch() ? "causal_mask" : own_mask, {1, 1, tokens, length});
  const Array scores = array::matmul(q, array::tile(keys, {1, kHeads, 1, 1}), false, true) + mask;
  const Array seen = array::matmul(array::softmax(scores), array::tile(values, {1, kHeads, 1, 1}));
  const Array joined =
      array::reshape(array::transpose(seen, {0, 2, 1, 3}), {1, tokens, kHeads * size});
  Array h = hidden + normed(product(joined, weights.get(at + "self_attn.o_proj.weight")),
                            at + "post_attention_layernorm");
  const Array m = normed(h, at + "pre_feedforward_layernorm");
  const Array gate =
      array::gelu(product(m, weights.get(at + "mlp.gate_proj.weight")), "TANH_APPROXIMATION");
  const Array inner = gate * product(m, weights.get(at + "mlp.up_proj.weight"));
  h = h + normed(product(inner, weights.get(at + "mlp.down_proj.weight")),
                 at + "post_feedforward_layernorm");
  const Array own = array::slice_axis(rows, 2, index * kLayerWidth, (index + 1) * kLayerWidth);
  const Array gated = array::gelu(product(h, weights.get(at + "per_layer_input_gate.weight")),
                                  "TANH_APPROXIMATION") *
                      own;
  h = h + normed(product(gated, weights.get(at + "per_layer_projection.weight")),
                 at + "post_per_layer_input_norm");
  return h * weights.get(at + "layer_scalar");
}

// The caches of a chunk; of a batch, the keys and values that no later layer shares.
void add_keys(Chunk& chunk, int64_t begin, int64_t end) {
  models::FunctionRecorder& recorder = chunk.recorder;
  if (!chunk.is_batch() && !chunk.sliding.keys.empty()) {
    recorder.output("K_sliding_out", array::concat(chunk.sliding.keys, 0));
    recorder.output("V_sliding_out", array::concat(chunk.sliding.values, 0));
    recorder.output("K_full_out", array::concat(chunk.full.keys, 0));
    recorder.output("V_full_out", array::concat(chunk.full.values, 0));
  }
  if (!chunk.is_batch()) return;
  for (int64_t i = begin; i < std::min(end, kLayers - 4); ++i) {
    const Caches& made = is_full(i) ? chunk.full : chunk.sliding;
    const auto place = static_cast<size_t>((i - begin) / 2);
    recorder.output(fmt::format("K{}", i - begin), made.keys[place]);
    recorder.output(fmt::format("V{}", i - begin), made.values[place]);
  }
}

// The layers [begin, end).
void write_chunk(const fs::path& checkpoint, const fs::path& path, int64_t begin, int64_t end,
                 int64_t tokens = 1) {
  Chunk chunk(checkpoint, tokens);
  Array hidden = chunk.input("hidden_states", {1, tokens, kHidden});
  const bool first = begin == 0, last = end == kLayers;
  const std::vector<int64_t> row = {1, tokens, kLayers * kLayerWidth};
  Array rows = hidden;
  if (first) {
    const Array raw = chunk.input("per_layer_raw", row);
    const Array projected =
        product(hidden, chunk.weights.get("per_layer_model_projection.weight")) *
        (1 / std::sqrt(static_cast<double>(kHidden)));
    const Array by_layer = array::reshape(projected, {1, tokens, kLayers, kLayerWidth});
    const Array normed = chunk.normed(by_layer, "per_layer_projection_norm");
    rows = (array::reshape(normed, {1, tokens, kLayers * kLayerWidth}) + raw) * std::sqrt(0.5);
  } else {
    rows = chunk.input("per_layer_combined", row);
  }
  const int64_t slots = std::min(end, kLayers - 2) - begin;
  for (int64_t i = begin; i < end; ++i) hidden = chunk.layer(i, hidden, rows, slots / 2);
  models::FunctionRecorder& recorder = chunk.recorder;
  add_keys(chunk, begin, end);
  if (first) recorder.output("per_layer_combined_out", rows);
  constexpr const char* kShared[] = {"kv13_k", "kv13_v", "kv14_k", "kv14_v"};
  for (size_t i = 0; i < chunk.shared.size(); ++i) recorder.output(kShared[i], chunk.shared[i]);
  if (last) {
    Array x = chunk.normed(hidden, "norm");
    if (chunk.is_batch()) {
      x = array::reduce_sum(x * chunk.input("last_position_mask", {1, tokens, 1}), {1}, true);
    }
    const Array logits = array::reshape(
        array::tanh(product(x, chunk.weights.get(kTokens)) * (1 / kCap)) * kCap, {1, kWords});
    recorder.output(
        "token_id",
        array::record_one("reduce_argmax", {{"x", logits}, {"axis", -1}, {"keep_dims", false}}));
    recorder.output("token_logit", array::reduce_max(logits, {-1}));
  } else {
    recorder.output("hidden_states_out", hidden);
  }
  mil::Model model = models::empty_model({}, "chunk", mil::Opset::CoreML8);
  recorder.add_to(model);
  mil::write_package(model, path);
}

// Angles of positions; of the full layers a quarter of the pairs turns.
void write_angles(const fs::path& folder, const char* kind, int64_t size, double theta,
                  int64_t turning) {
  std::vector<float16> cosines, sines;
  constexpr int64_t kPositions = 128;
  for (int64_t position = 0; position < kPositions; ++position) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t pair = i % (size / 2);
      const double share = 2 * static_cast<double>(pair) / static_cast<double>(size);
      const double angle =
          pair < turning ? static_cast<double>(position) * std::pow(theta, -share) : 0;
      cosines.push_back(to_float16(static_cast<float>(std::cos(angle))));
      sines.push_back(to_float16(static_cast<float>(std::sin(angle))));
    }
  }
  const auto write = [&](const char* name, const std::vector<float16>& values) {
    write_npy(folder / fmt::format("{}_{}.npy", name, kind),
              NpyArray::from(std::span<const float16>(values), {kPositions, size}));
  };
  write("cos", cosines);
  write("sin", sines);
}

void write_table(const fs::path& folder, const char* stem, const Quantized& table) {
  const auto text = [](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  write_file(folder / fmt::format("{}_q8.bin", stem), text(table.values));
  write_file(folder / fmt::format("{}_scales.bin", stem), text(table.scales));
}

}  // namespace

void write_bundle_checkpoint(const fs::path& folder) {
  write_file(folder / "config.json", kConfig);
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, shape] : shapes()) declarations.push_back({name, Dtype::F32, shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto stored = tables();
  for (const auto& tensor : declarations) {
    int64_t count = 1;
    for (const int64_t dim : tensor.shape) count *= dim;
    const bool is_vector = tensor.shape.size() == 1;
    // Else the most likely token would be the last one, whatever the layers add.
    const float mean = tensor.name.find(".post_") != std::string::npos ? 3 : 1;
    const float scale =
        is_vector ? 0.2F
                  : 1 / std::sqrt(static_cast<float>(count) / static_cast<float>(tensor.shape[0]));
    const auto found = std::find_if(stored.begin(), stored.end(), [&](const auto& table) {
      return tensor.name.ends_with("." + table.first);
    });
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      const float drawn = (is_vector ? mean : 0.0F) + scale * normal(random);
      const float value =
          found == stored.end()
              ? to_float(to_float16(drawn))
              : static_cast<float>(found->second.values[at]) / 127 *
                    to_float(found->second.scales[at / static_cast<size_t>(tensor.shape[1])]);
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
  write_word_tokenizer(folder, kWords, special_tokens());
  write_file(folder / "processor_config.json", kProcessor);
}

void write_bundle(const fs::path& checkpoint, const fs::path& folder, BundleLayout layout) {
  const bool three = layout == BundleLayout::Three;
  const fs::path chunks = three ? folder / "swa" : folder;
  fs::create_directories(chunks);
  fs::create_directories(folder / "hf_model");
  write_word_tokenizer(folder / "hf_model", kWords, special_tokens());
  write_file(folder / "hf_model" / "config.json", kConfig);
  write_file(folder / "model_config.json",
             fmt::format(R"({{"model_name": "tiny", "architecture": "gemma4", "hidden_size": {},
      "num_hidden_layers": {}, "vocab_size": {}, "context_length": {}, "sliding_window": {},
      "per_layer_dim": {}, "embed_scale": {}, "per_layer_embed_scale": {}}})",
                         kHidden, kLayers, kWords, kBundleContext, kBundleWindow, kLayerWidth,
                         std::sqrt(static_cast<double>(kHidden)),
                         std::sqrt(static_cast<double>(kLayerWidth))));
  const auto stored = tables();
  write_table(folder, "embed_tokens", stored.at(kTokens));
  write_table(folder, "embed_tokens_per_layer", stored.at(kTokensOfLayers));
  write_angles(chunks, "sliding", kSliding, 10000, kSliding / 2);
  write_angles(chunks, "full", kFull, 1e6, kFull / 8);
  write_chunk(checkpoint, chunks / "chunk1.mlpackage", 0, 4);
  if (three) {
    write_chunk(checkpoint, chunks / "chunk2_3way.mlpackage", 4, 7);
    write_chunk(checkpoint, chunks / "chunk3_3way.mlpackage", 7, 8);
  } else {
    write_chunk(checkpoint, chunks / "chunk2.mlpackage", 4, 6);
    write_chunk(checkpoint, chunks / "chunk3.mlpackage", 6, 7);
    write_chunk(checkpoint, chunks / "chunk4.mlpackage", 7, 8);
  }
}

void write_bundle_prefill(const fs::path& checkpoint, const fs::path& folder, const char* prefix,
                          int64_t tokens) {
  fs::create_directories(folder);
  constexpr std::array<int64_t, 5> kEnds = {0, 4, 6, 7, 8};
  for (size_t i = 1; i < kEnds.size(); ++i) {
    write_chunk(checkpoint, folder / fmt::format("{}{}.mlpackage", prefix, i), kEnds[i - 1],
                kEnds[i], tokens);
  }
}

}  // namespace pippin::testing_models
