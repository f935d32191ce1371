#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_keys.h"

namespace pippin::models {
namespace {

bool is_gemma(std::string_view architecture) {
  return architecture.starts_with("gemma");
}

bool is_t5(std::string_view architecture) {
  return architecture == "t5" || architecture == "t5encoder";
}

// Architectures whose rows of queries and keys are in neighbouring pairs.
bool has_pairs(std::string_view architecture) {
  return architecture == "llama";
}

using Module = std::pair<std::string_view, std::string_view>;

constexpr Module kDecoder[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};
constexpr Module kBert[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"cls", "pooler.dense"},
    {"cls.output", "classifier"},
    {"attn_q", "attention.self.query"},
    {"attn_k", "attention.self.key"},
    {"attn_v", "attention.self.value"},
    {"attn_output", "attention.output.dense"},
    {"attn_output_norm", "attention.output.LayerNorm"},
    {"ffn_up", "intermediate.dense"},
    {"ffn_down", "output.dense"},
    {"layer_output_norm", "output.LayerNorm"},
};
constexpr Module kNomicBert[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "emb_ln"},
    {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.out_proj"},
    {"attn_output_norm", "norm1"},
    {"ffn_up", "mlp.fc11"},
    {"ffn_gate", "mlp.fc12"},
    {"ffn_down", "mlp.fc2"},
    {"layer_output_norm", "norm2"},
};
constexpr Module kT5[] = {
    {"token_embd", "shared"},
    {"output", "lm_head"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"attn_norm", "layer.0.layer_norm"},
    {"attn_q", "layer.0.SelfAttention.q"},
    {"attn_k", "layer.0.SelfAttention.k"},
    {"attn_v", "layer.0.SelfAttention.v"},
    {"attn_o", "layer.0.SelfAttention.o"},
    {"attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"},
    {"cross_attn_norm", "layer.1.layer_norm"},
    {"cross_attn_q", "layer.1.EncDecAttention.q"},
    {"cross_attn_k", "layer.1.EncDecAttention.k"},
    {"cross_attn_v", "layer.1.EncDecAttention.v"},
    {"cross_attn_o", "layer.1.EncDecAttention.o"},
};
// After one attention in the encoder, after two in the decoder.
constexpr Module kT5FeedForward[] = {
    {"ffn_norm", "layer_norm"},
    {"ffn_gate", "DenseReluDense.wi_0"},
    {"ffn_down", "DenseReluDense.wo"},
};

std::string_view find(std::span<const Module> modules, std::string_view name) {
  const auto* const found =
      std::find_if(modules.data(), modules.data() + modules.size(),
                   [&](const Module& module) { return module.first == name; });
  return found == modules.data() + modules.size() ? std::string_view() : found->second;
}

// Hugging Face's names for the tensors of one architecture.
class Names {
 public:
  Names(std::string_view architecture, bool gated) : architecture_(architecture), gated_(gated) {}

  // "model.layers.3.self_attn.q_proj.weight.q4_k" for "blk.3.attn_q.weight.q4_k"; unknown names
  // stay as they are.
  std::string of(std::string_view name) const {
    for (const auto& [block, path] : kBlocks) {
      if (!name.starts_with(block)) continue;
      const size_t dot = name.find('.', block.size());
      if (dot == name.npos) return std::string(name);
      const std::string_view index = name.substr(block.size(), dot - block.size());
      return named(name, fmt::format("{}.{}.", path.empty() ? layers_path() : path, index),
                   name.substr(dot + 1), block.starts_with("dec."));
    }
    return named(name, "", name, false);
  }

 private:
  // Prefixes of layers; if an architecture has only one path for layers, it is used.
  static constexpr Module kBlocks[] = {
      {"blk.", ""}, {"enc.blk.", "encoder.block"}, {"dec.blk.", "decoder.block"}};

  std::string_view layers_path() const {
    if (architecture_ == "bert") return "encoder.layer";
    return architecture_ == "nomic-bert" ? "encoder.layers" : "model.layers";
  }

  std::string named(std::string_view full, const std::string& path, std::string_view rest,
                    bool decodes) const {
    const size_t end = std::min(rest.find(".weight"), rest.find(".bias"));
    const std::string module = end == rest.npos ? "" : module_of(rest.substr(0, end), decodes);
    return module.empty() ? std::string(full) : path + module + std::string(rest.substr(end));
  }

  std::string module_of(std::string_view name, bool decodes) const {
    if (architecture_ == "bert") return std::string(find(kBert, name));
    if (architecture_ == "nomic-bert") return std::string(find(kNomicBert, name));
    if (is_t5(architecture_)) return t5_module(name, decodes);
    const bool four_norms = is_gemma(architecture_) && architecture_ != "gemma";
    if (four_norms && name == "ffn_norm") return "pre_feedforward_layernorm";
    if (architecture_ == "phi3" && name == "ffn_up") return "mlp.gate_up_proj";
    return std::string(find(kDecoder, name));
  }

  std::string t5_module(std::string_view name, bool decodes) const {
    std::string_view last = find(kT5FeedForward, name);
    if (name == "ffn_up") last = gated_ ? "DenseReluDense.wi_1" : "DenseReluDense.wi";
    if (last.empty()) return std::string(find(kT5, name));
    return fmt::format("layer.{}.{}", decodes ? 2 : 1, last);
  }

  std::string_view architecture_;
  bool gated_;
};

// Tensors that are in the configuration, or that the model's own implementation does not read.
bool is_left_out(std::string_view name) {
  return name.starts_with("rope_f") || name.find(".cross_attn_rel_b.") != name.npos;
}

std::vector<std::byte> less_one(const TensorInfo& tensor) {
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, &bytes[i], sizeof(float));
    value -= 1.0f;
    std::memcpy(&bytes[i], &value, sizeof(float));
  }
  return bytes;
}

}  // namespace

bool is_gguf(const Checkpoint& checkpoint) {
  return std::all_of(checkpoint.files().begin(), checkpoint.files().end(),
                     [](const auto& file) { return file->file().path().extension() == ".gguf"; });
}

Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const std::string& architecture) {
  const std::vector<std::string> all = checkpoint.names();
  const Names names(architecture, std::any_of(all.begin(), all.end(), [](const std::string& name) {
                      return name.starts_with("enc.blk.0.ffn_gate.");
                    }));
  return checkpoint.renamed([&](const TensorInfo& tensor) -> Checkpoint::Renamed {
    if (is_left_out(tensor.name)) return {};
    Checkpoint::Renamed result{names.of(tensor.name)};
    const bool norm = is_gemma(architecture) && tensor.name.ends_with("norm.weight");
    if (norm && tensor.dtype == Dtype::F32) result.bytes = less_one(tensor);
    return result;
  });
}

namespace {

template <typename Options>
void apply(const Config& config, Options& model) {
  const std::string architecture = config.text(kGgufKey, "");
  if (architecture.empty()) return;
  model.packed = nn::gguf_weights();
  if (!has_pairs(architecture)) return;
  for (nn::LayerOptions& layer : model.layers) layer.attention().interleaved = true;
}

}  // namespace

void apply_gguf(const Config& config, nn::DecoderOptions& model) {
  apply(config, model);
}

void apply_gguf(const Config& config, EncoderDescription& model) {
  apply(config, model.encoder);
  if (config.flag(kGgufBareHead, false)) model.classifier.dense.clear();
}

}  // namespace pippin::models
