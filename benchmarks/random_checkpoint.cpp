#include "benchmarks/random_checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"

namespace pippin {
namespace {

using Declaration = SafetensorsWriter::Declaration;

constexpr int64_t kByteTokens = 256;
constexpr std::array kSpecials = {"<s>", "</s>", "<unk>"};
constexpr int64_t kMaxSize = 1 << 24;

struct Tensor {
  Declaration declaration;
  // Noise with this standard deviation around the mean; norms have mean 1, biases 0.
  float deviation;
  float mean;
};

// ---- The tensors, in the order of a Hugging Face file.

std::vector<Tensor> layer_tensors(const LlamaShape& shape, Dtype dtype, int64_t layer) {
  const int64_t hidden = shape.hidden_size;
  const int64_t head_dim = shape.head_dim;
  const int64_t query = shape.num_heads * head_dim;
  const int64_t key = shape.num_kv_heads * head_dim;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  // Variance 1/inputs keeps the magnitude of activations through a product; the two products that
  // add to the residual stream are smaller by the square root of their number, as in GPT-2's
  // initialization.
  const auto scale = [](int64_t inputs) { return 1.0f / std::sqrt(static_cast<float>(inputs)); };
  const float residual = 1.0f / std::sqrt(2.0f * static_cast<float>(shape.num_layers));
  std::vector<Tensor> result;
  const auto add = [&](const std::string& name, std::vector<int64_t> size, float deviation,
                       float mean = 0) {
    result.push_back({{prefix + name, dtype, std::move(size)}, deviation, mean});
  };
  add("input_layernorm.weight", {hidden}, 0, 1);
  for (const auto& [name, rows] :
       {std::pair{"q_proj", query}, std::pair{"k_proj", key}, std::pair{"v_proj", key}}) {
    add(fmt::format("self_attn.{}.weight", name), {rows, hidden}, scale(hidden));
    if (shape.attention_bias) add(fmt::format("self_attn.{}.bias", name), {rows}, 0.02f);
  }
  if (shape.norms != LlamaShape::Norms::None) {
    const bool all = shape.norms == LlamaShape::Norms::All;
    add("self_attn.q_norm.weight", {all ? query : head_dim}, 0, 1);
    add("self_attn.k_norm.weight", {all ? key : head_dim}, 0, 1);
  }
  add("self_attn.o_proj.weight", {hidden, query}, scale(query) * residual);
  add("post_attention_layernorm.weight", {hidden}, 0, 1);
  const auto add_mlp = [&](const std::string& path, int64_t width) {
    add(path + "gate_proj.weight", {width, hidden}, scale(hidden));
    add(path + "up_proj.weight", {width, hidden}, scale(hidden));
    add(path + "down_proj.weight", {hidden, width}, scale(width) * residual);
  };
  if (shape.num_experts == 0) {
    add_mlp("mlp.", shape.intermediate_size);
    return result;
  }
  add("mlp.gate.weight", {shape.num_experts, hidden}, scale(hidden));
  for (int64_t expert = 0; expert < shape.num_experts; ++expert) {
    add_mlp(fmt::format("mlp.experts.{}.", expert), shape.expert_width);
  }
  return result;
}

constexpr int64_t kTaps = 4;  // of the convolution before a state space

std::vector<Tensor> state_space_tensors(const LlamaShape& shape, Dtype dtype) {
  const int64_t hidden = shape.hidden_size, inner = shape.intermediate_size;
  const int64_t convolved = inner + 2 * shape.num_kv_heads * shape.state_size;
  const auto scale = [](int64_t inputs) { return 1.0f / std::sqrt(static_cast<float>(inputs)); };
  const float residual = 1.0f / std::sqrt(static_cast<float>(shape.num_layers));
  std::vector<Tensor> result;
  std::string prefix = "backbone.";
  const auto add = [&](const std::string& name, std::vector<int64_t> size, float deviation,
                       float mean = 0) {
    result.push_back({{prefix + name, dtype, std::move(size)}, deviation, mean});
  };
  add("embeddings.weight", {shape.vocab_size, hidden},
      shape.tie_word_embeddings ? scale(hidden) : 1.0f);
  for (int64_t layer = 0; layer < shape.num_layers; ++layer) {
    prefix = fmt::format("backbone.layers.{}.", layer);
    add("norm.weight", {hidden}, 0, 1);
    // Steps of about 0.05 and rates of about -2: a head's state is halved within ten tokens.
    add("mixer.A_log", {shape.num_heads}, 0.5f, 0.7f);
    add("mixer.D", {shape.num_heads}, 0.1f, 1);
    add("mixer.conv1d.bias", {convolved}, 0.02f);
    add("mixer.conv1d.weight", {convolved, 1, kTaps}, scale(kTaps));
    add("mixer.dt_bias", {shape.num_heads}, 0.5f, -3);
    add("mixer.in_proj.weight", {inner + convolved + shape.num_heads, hidden}, scale(hidden));
    add("mixer.norm.weight", {inner}, 0, 1);
    add("mixer.out_proj.weight", {hidden, inner}, scale(inner) * residual);
  }
  prefix = "";
  add("backbone.norm_f.weight", {hidden}, 0, 1);
  if (!shape.tie_word_embeddings) add("lm_head.weight", {shape.vocab_size, hidden}, scale(hidden));
  return result;
}

std::vector<Tensor> all_tensors(const LlamaShape& shape, Dtype dtype) {
  if (shape.state_size > 0) return state_space_tensors(shape, dtype);
  std::vector<Tensor> result;
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.hidden_size));
  result.push_back({{"model.embed_tokens.weight", dtype, {shape.vocab_size, shape.hidden_size}},
                    // Tied embeddings are also the head, so they must not be larger than a head.
                    shape.tie_word_embeddings ? scale : 1.0f,
                    0});
  for (int64_t layer = 0; layer < shape.num_layers; ++layer) {
    for (Tensor& tensor : layer_tensors(shape, dtype, layer)) result.push_back(std::move(tensor));
  }
  result.push_back({{"model.norm.weight", dtype, {shape.hidden_size}}, 0, 1});
  if (!shape.tie_word_embeddings) {
    result.push_back({{"lm_head.weight", dtype, {shape.vocab_size, shape.hidden_size}}, scale, 0});
  }
  return result;
}

int64_t elements(const Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.declaration.shape) count *= size;
  return count;
}

// ---- The noise

// Values come from a table of 4096 normally distributed values, so a weight costs a quarter of a
// random number and no arithmetic. Quantizers see a realistic distribution: a bell curve with
// tails, and no two equal rows.
class Noise {
 public:
  explicit Noise(uint64_t seed) {
    // Two rounds of splitmix64, so that seeds that differ in one bit give unrelated streams.
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
      word = mixed ^ (mixed >> 31);
    }
    state_[0] |= 1;  // all zeros is the only fixed point
    // The i-th of n equally probable values, by a rational approximation of the quantile (Hastings,
    // 26.2.23 in Abramowitz & Stegun).
    for (size_t i = 0; i < kTable; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kTable;
      const double t = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
      const double tail = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                                  (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
      table_[i] = static_cast<float>(p < 0.5 ? -tail : tail);
    }
  }

  template <typename T, typename Convert>
  void fill(std::span<T> out, float deviation, float mean, Convert convert) {
    std::array<T, kTable> values;
    for (size_t i = 0; i < kTable; ++i) values[i] = convert(mean + deviation * table_[i]);
    for (size_t i = 0; i < out.size();) {
      uint64_t word = next();
      for (const size_t end = std::min(i + 5, out.size()); i < end; ++i, word >>= 12) {
        out[i] = values[word % kTable];
      }
    }
  }

 private:
  static constexpr size_t kTable = 4096;

  uint64_t next() {  // xorshift128+
    uint64_t a = state_[0];
    const uint64_t b = state_[1];
    state_[0] = b;
    a ^= a << 23;
    state_[1] = a ^ b ^ (a >> 18) ^ (b >> 5);
    return state_[1] + b;
  }

  std::array<uint64_t, 2> state_{};
  std::array<float, kTable> table_{};
};

template <typename T, typename Convert>
void append_noise(SafetensorsWriter& writer, const Tensor& tensor, Noise& noise, Convert convert) {
  std::vector<T> chunk(size_t{1} << 18);
  size_t left = static_cast<size_t>(elements(tensor));
  while (left > 0) {
    const auto part = std::span(chunk).first(std::min(left, chunk.size()));
    noise.fill<T>(part, tensor.deviation, tensor.mean, convert);
    writer.append(std::as_bytes(part));
    left -= part.size();
  }
}

void write_weights(const std::filesystem::path& path, const std::vector<Tensor>& tensors,
                   Dtype dtype, Noise& noise) {
  std::vector<Declaration> declarations;
  for (const Tensor& tensor : tensors) declarations.push_back(tensor.declaration);
  SafetensorsWriter writer(path, declarations);
  for (const Tensor& tensor : tensors) {
    switch (dtype) {
      case Dtype::F16:
        append_noise<float16>(writer, tensor, noise, [](float x) { return to_float16(x); });
        break;
      case Dtype::BF16:
        append_noise<bfloat16>(writer, tensor, noise, [](float x) { return to_bfloat16(x); });
        break;
      default:
        append_noise<float>(writer, tensor, noise, [](float x) { return x; });
    }
  }
  writer.finish();
}

void write_shards(const std::filesystem::path& folder, const RandomCheckpointOptions& options) {
  const std::vector<Tensor> tensors = all_tensors(options.shape, options.dtype);
  Noise noise(options.seed);
  if (options.shards == 1) {
    return write_weights(folder / "model.safetensors", tensors, options.dtype, noise);
  }
  const uint64_t total = checkpoint_bytes(options.shape, options.dtype);
  const uint64_t per_shard = ceil_div(total, static_cast<uint64_t>(options.shards));
  JsonWriter index(2);
  index.begin_object().key("metadata").begin_object().member("total_size", total).end_object();
  index.key("weight_map").begin_object();
  size_t next = 0;
  for (int shard = 0; shard < options.shards; ++shard) {
    const std::string file =
        fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, options.shards);
    std::vector<Tensor> part;
    // Whole tensors: at least one, and at least one left for each later shard.
    for (uint64_t bytes = 0; next < tensors.size(); ++next) {
      const size_t left = tensors.size() - next;
      const auto later = static_cast<size_t>(options.shards - shard - 1);
      if (!part.empty() && (left <= later || (bytes >= per_shard && later > 0))) break;
      bytes += static_cast<uint64_t>(elements(tensors[next]) * bits(options.dtype) / 8);
      part.push_back(tensors[next]);
      index.member(tensors[next].declaration.name, file);
    }
    write_weights(folder / file, part, options.dtype, noise);
  }
  index.end_object().end_object();
  write_file(folder / "model.safetensors.index.json", index.text());
}

// ---- The small files

std::string_view torch_dtype(Dtype dtype) {
  return dtype == Dtype::F16 ? "float16" : dtype == Dtype::BF16 ? "bfloat16" : "float32";
}

// Returns model_type and class.
std::pair<const char*, const char*> kind_of(const LlamaShape& shape) {
  if (shape.num_experts == 0) return {"llama", "LlamaForCausalLM"};
  return shape.norms == LlamaShape::Norms::All ? std::pair{"olmoe", "OlmoeForCausalLM"}
                                               : std::pair{"qwen3_moe", "Qwen3MoeForCausalLM"};
}

std::string state_space_config(const LlamaShape& shape, Dtype dtype) {
  JsonWriter json(2);
  json.begin_object();
  json.key("architectures").begin_array().value("Mamba2ForCausalLM").end_array();
  json.member("bos_token_id", 0).member("conv_kernel", kTaps).member("eos_token_id", 1);
  json.member("expand", shape.intermediate_size / shape.hidden_size);
  json.member("head_dim", shape.head_dim).member("hidden_act", "silu");
  json.member("hidden_size", shape.hidden_size).member("layer_norm_epsilon", 1e-5);
  json.member("model_type", "mamba2").member("n_groups", shape.num_kv_heads);
  json.member("num_heads", shape.num_heads).member("num_hidden_layers", shape.num_layers);
  json.member("state_size", shape.state_size);
  json.member("tie_word_embeddings", shape.tie_word_embeddings);
  json.member("torch_dtype", torch_dtype(dtype)).member("use_bias", false);
  json.member("use_conv_bias", true).member("vocab_size", shape.vocab_size);
  return json.end_object().text() + "\n";
}

std::string make_config(const LlamaShape& shape, Dtype dtype) {
  if (shape.state_size > 0) return state_space_config(shape, dtype);
  const auto [model_type, architecture] = kind_of(shape);
  JsonWriter json(2);
  json.begin_object();
  json.key("architectures").begin_array().value(architecture).end_array();
  json.member("attention_bias", shape.attention_bias).member("bos_token_id", 0);
  json.member("eos_token_id", 1).member("head_dim", shape.head_dim).member("hidden_act", "silu");
  json.member("hidden_size", shape.hidden_size);
  // OLMoE has a single width, that of an expert.
  const bool one_width = std::string_view(model_type) == "olmoe";
  json.member("intermediate_size", one_width ? shape.expert_width : shape.intermediate_size);
  json.member("max_position_embeddings", shape.max_positions).member("model_type", model_type);
  if (shape.num_experts > 0) {
    if (!one_width) json.member("moe_intermediate_size", shape.expert_width);
    json.member("num_experts", shape.num_experts);
    json.member("num_experts_per_tok", shape.experts_per_token);
  }
  json.member("num_attention_heads", shape.num_heads);
  json.member("num_hidden_layers", shape.num_layers);
  json.member("num_key_value_heads", shape.num_kv_heads);
  json.member("rms_norm_eps", 1e-5).member("rope_theta", 10000.0);
  json.member("tie_word_embeddings", shape.tie_word_embeddings);
  json.member("torch_dtype", torch_dtype(dtype)).member("vocab_size", shape.vocab_size);
  return json.end_object().text() + "\n";
}

// GPT-2's byte alphabet: printable bytes map to themselves, the others to code points from 256 on.
std::string byte_symbol(int byte) {
  const auto prints = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
  };
  char32_t code_point = static_cast<char32_t>(byte);
  if (!prints(byte)) {
    code_point = 256;
    for (int b = 0; b < byte; ++b) code_point += prints(b) ? 0 : 1;
  }
  std::string result;
  append_utf8(result, code_point);
  return result;
}

// Byte-level BPE without merges: every text has ids that decode to it. Placeholders fill the
// remaining ids, so that any output of the model can be decoded.
std::string make_tokenizer(int64_t vocab_size) {
  JsonWriter json;
  json.begin_object().member("version", "1.0").member("truncation", nullptr);
  json.member("padding", nullptr).key("added_tokens").begin_array();
  for (size_t id = 0; id < kSpecials.size(); ++id) {
    json.begin_object().member("id", id).member("content", kSpecials[id]);
    json.member("single_word", false).member("lstrip", false).member("rstrip", false);
    json.member("normalized", false).member("special", true).end_object();
  }
  json.end_array().member("normalizer", nullptr);
  const auto byte_level = [&](std::string_view key) {
    json.key(key).begin_object().member("type", "ByteLevel").member("add_prefix_space", false);
    json.member("trim_offsets", true).member("use_regex", true).end_object();
  };
  byte_level("pre_tokenizer");
  json.member("post_processor", nullptr);
  byte_level("decoder");
  json.key("model").begin_object().member("type", "BPE").member("dropout", nullptr);
  json.member("unk_token", nullptr).member("continuing_subword_prefix", nullptr);
  json.member("end_of_word_suffix", nullptr).member("fuse_unk", false);
  json.member("byte_fallback", false).key("vocab").begin_object();
  int64_t id = 0;
  for (const char* special : kSpecials) json.member(special, id++);
  for (int byte = 0; byte < kByteTokens; ++byte) json.member(byte_symbol(byte), id++);
  for (; id < vocab_size; ++id) json.member(fmt::format("[{}]", id), id);
  json.end_object().key("merges").begin_array().end_array().end_object();
  return json.end_object().text();
}

std::string make_tokenizer_config(const LlamaShape& shape) {
  JsonWriter json(2);
  json.begin_object().member("bos_token", kSpecials[0]).member("eos_token", kSpecials[1]);
  json.member("unk_token", kSpecials[2]).member("model_max_length", shape.max_positions);
  json.member("tokenizer_class", "PreTrainedTokenizerFast");
  return json.end_object().text() + "\n";
}

std::string make_generation_config() {
  JsonWriter json(2);
  json.begin_object().member("bos_token_id", 0).member("eos_token_id", 1);
  return json.end_object().text() + "\n";
}

void check(const LlamaShape& shape) {
  const auto range = [](std::string_view name, int64_t value, int64_t min) {
    if (value < min || value > kMaxSize) {
      fail(ErrorCode::InvalidArgument, "{} is {}, must be from {} to {}", name, value, min,
           kMaxSize);
    }
  };
  range("vocab_size", shape.vocab_size, kByteTokens + static_cast<int64_t>(kSpecials.size()));
  range("hidden_size", shape.hidden_size, 1);
  range("intermediate_size", shape.intermediate_size, 1);
  range("num_hidden_layers", shape.num_layers, 1);
  range("num_attention_heads", shape.num_heads, 1);
  range("num_key_value_heads", shape.num_kv_heads, 1);
  range("head_dim", shape.head_dim, 1);
  if (shape.num_experts != 0) {
    range("num_experts", shape.num_experts, 2);
    range("num_experts_per_tok", shape.experts_per_token, 1);
    range("moe_intermediate_size", shape.expert_width, 1);
  }
  if (shape.state_size != 0) {
    range("state_size", shape.state_size, 1);
    if (shape.num_heads * shape.head_dim != shape.intermediate_size ||
        shape.intermediate_size % shape.hidden_size != 0) {
      fail(ErrorCode::InvalidArgument, "{} heads of {} are not a whole multiple of hidden_size {}",
           shape.num_heads, shape.head_dim, shape.hidden_size);
    }
  }
  if (shape.num_heads % shape.num_kv_heads != 0) {
    fail(ErrorCode::InvalidArgument, "{} attention heads are not a multiple of {} key heads",
         shape.num_heads, shape.num_kv_heads);
  }
}

LlamaShape completed(LlamaShape shape) {
  if (shape.head_dim == 0 && shape.num_heads > 0) {
    shape.head_dim = shape.hidden_size / shape.num_heads;
  }
  check(shape);
  return shape;
}

}  // namespace

LlamaShape preset_shape(const std::string& name) {
  struct Preset {
    std::string_view name;
    LlamaShape shape;
  };
  static constexpr Preset kPresets[] = {
      {"tiny", {259 + 253, 64, 176, 2, 4, 2, 16, 512, true}},
      {"llama-160m", {32000, 768, 2048, 12, 12, 12, 64, 2048}},
      {"llama-1.3b", {32000, 2048, 5504, 24, 16, 16, 128, 4096}},
      {"llama-3b", {128256, 3072, 8192, 28, 24, 8, 128, 8192, true}},
      {"llama-7b", {32000, 4096, 11008, 32, 32, 32, 128, 4096}},
      {"olmoe-7b",
       {50304, 2048, 1024, 16, 16, 16, 128, 4096, false, false, 64, 8, 1024,
        LlamaShape::Norms::All}},
      {"qwen3-30b-a3b-12",
       {151936, 2048, 6144, 12, 32, 4, 128, 40960, false, false, 128, 8, 768,
        LlamaShape::Norms::Heads}},
      {"mamba2-1.3b",
       {50288, 2048, 4096, 48, 64, 1, 64, 2048, true, false, 0, 0, 0, LlamaShape::Norms::None,
        128}},
  };
  std::string known;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.shape;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  fail(ErrorCode::InvalidArgument, "no preset \"{}\"; there are {}", name, known);
}

LlamaShape shape_from_config(const std::string& config_json, const std::string& name) {
  const Json json = Json::parse(config_json, name);
  LlamaShape shape;
  shape.vocab_size = json.get_int("vocab_size");
  shape.hidden_size = json.get_int("hidden_size");
  if (json.get_string_or("model_type", "llama") == "mamba2") {
    shape.intermediate_size = json.get_int_or("expand", 2) * shape.hidden_size;
    shape.num_layers = json.get_int("num_hidden_layers");
    shape.num_heads = json.get_int("num_heads");
    shape.head_dim = json.get_int("head_dim");
    shape.num_kv_heads = json.get_int("n_groups");
    shape.state_size = json.get_int("state_size");
    shape.tie_word_embeddings = json.get_bool_or("tie_word_embeddings", false);
    return with_context(name, [&] { return completed(shape); });
  }
  shape.intermediate_size = json.get_int("intermediate_size");
  shape.num_layers = json.get_int("num_hidden_layers");
  shape.num_heads = json.get_int("num_attention_heads");
  shape.num_kv_heads = json.get_int_or("num_key_value_heads", shape.num_heads);
  shape.head_dim = json.get_int_or("head_dim", 0);
  shape.max_positions = json.get_int_or("max_position_embeddings", 2048);
  shape.tie_word_embeddings = json.get_bool_or("tie_word_embeddings", false);
  const std::string type = json.get_string_or("model_type", "llama");
  // Qwen2 has these biases although its configuration does not mention them.
  shape.attention_bias = json.get_bool_or("attention_bias", type == "qwen2");
  if (type == "olmoe" || type == "qwen3_moe") {
    shape.num_experts = json.get_int("num_experts");
    shape.experts_per_token = json.get_int("num_experts_per_tok");
    shape.expert_width = json.get_int_or("moe_intermediate_size", shape.intermediate_size);
  }
  if (type == "olmoe") shape.norms = LlamaShape::Norms::All;
  if (type == "qwen3" || type == "qwen3_moe") shape.norms = LlamaShape::Norms::Heads;
  return with_context(name, [&] { return completed(shape); });
}

uint64_t checkpoint_bytes(const LlamaShape& shape, Dtype dtype) {
  uint64_t total = 0;
  for (const Tensor& tensor : all_tensors(completed(shape), dtype)) {
    total += static_cast<uint64_t>(elements(tensor) * bits(dtype) / 8);
  }
  return total;
}

void write_random_checkpoint(const std::filesystem::path& folder,
                             const RandomCheckpointOptions& given) {
  RandomCheckpointOptions options = given;
  options.shape = completed(given.shape);
  if (options.dtype != Dtype::F16 && options.dtype != Dtype::BF16 && options.dtype != Dtype::F32) {
    fail(ErrorCode::InvalidArgument, "dtype {}: F16, BF16 and F32 are written",
         to_string(options.dtype));
  }
  const size_t tensors = all_tensors(options.shape, options.dtype).size();
  if (options.shards < 1 || static_cast<size_t>(options.shards) > tensors) {
    fail(ErrorCode::InvalidArgument, "{} shards for {} tensors", options.shards, tensors);
  }
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) {
    fail(ErrorCode::InvalidArgument, "{}: exists already and is not empty", folder.string());
  }
  PendingOutput output(folder);
  std::filesystem::create_directory(output.path());
  write_file(output.path() / "config.json", options.config_json.empty()
                                                ? make_config(options.shape, options.dtype)
                                                : options.config_json);
  write_file(output.path() / "generation_config.json", make_generation_config());
  write_file(output.path() / "tokenizer.json", make_tokenizer(options.shape.vocab_size));
  write_file(output.path() / "tokenizer_config.json", make_tokenizer_config(options.shape));
  write_shards(output.path(), options);
  output.commit();
}

}  // namespace pippin
