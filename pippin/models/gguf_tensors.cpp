#include <algorithm>
#include <cstring>
#include <utility>

#include "pippin/models/gguf.h"

namespace pippin::models {
namespace {

constexpr std::string_view kBlock = "blk.";

bool is_gemma(std::string_view architecture) {
  return architecture.starts_with("gemma");
}

// Architectures whose rows of queries and keys lie in neighbouring pairs.
bool has_pairs(std::string_view architecture) {
  return architecture == "llama";
}

std::string_view module_name(std::string_view name, std::string_view architecture) {
  static constexpr std::pair<std::string_view, std::string_view> kModules[] = {
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
  const bool four_norms = architecture == "gemma2" || architecture == "gemma3";
  if (four_norms && name == "ffn_norm") return "pre_feedforward_layernorm";
  if (architecture == "phi3" && name == "ffn_up") return "mlp.gate_up_proj";
  for (const auto& [from, to] : kModules) {
    if (from == name) return to;
  }
  return {};
}

// "model.layers.3.self_attn.q_proj.weight.q4_k" of "blk.3.attn_q.weight.q4_k"; names that are not
// known stay as they are.
std::string full_name(std::string_view name, std::string_view architecture) {
  std::string_view rest = name;
  std::string path;
  if (rest.starts_with(kBlock)) {
    const size_t dot = rest.find('.', kBlock.size());
    if (dot == rest.npos) return std::string(name);
    path = "model.layers." + std::string(rest.substr(kBlock.size(), dot - kBlock.size())) + ".";
    rest.remove_prefix(dot + 1);
  }
  const size_t dot = rest.find('.');
  const std::string_view module = module_name(rest.substr(0, dot), architecture);
  if (module.empty() || dot == rest.npos) return std::string(name);
  return path + std::string(module) + std::string(rest.substr(dot));
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
  return checkpoint.renamed([&](const TensorInfo& tensor) -> Checkpoint::Renamed {
    // These are in the configuration.
    if (tensor.name.starts_with("rope_f")) return {};
    Checkpoint::Renamed result{full_name(tensor.name, architecture)};
    const bool norm = is_gemma(architecture) && tensor.name.ends_with("norm.weight");
    if (norm && tensor.dtype == Dtype::F32) result.bytes = less_one(tensor);
    return result;
  });
}

void apply_gguf(const Config& config, nn::DecoderOptions& model) {
  const std::string architecture = config.text(kGgufKey, "");
  if (architecture.empty()) return;
  model.packed = nn::gguf_weights();
  if (!has_pairs(architecture)) return;
  for (nn::LayerOptions& layer : model.layers) layer.attention().interleaved = true;
}

}  // namespace pippin::models
