#include "pippin/models/gguf/ggml_whisper.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

using GgmlNames = std::pair<std::string_view, std::string_view>;

// OpenAI's names of tensors outside of layers, up to ".weight" and ".bias".
constexpr GgmlNames kGgmlTop[] = {
    {"encoder.conv1", "model.encoder.conv1"},
    {"encoder.conv2", "model.encoder.conv2"},
    {"encoder.ln_post", "model.encoder.layer_norm"},
    {"decoder.ln", "model.decoder.layer_norm"},
    {"decoder.token_embedding", "model.decoder.embed_tokens"},
};
constexpr GgmlNames kGgmlLayer[] = {
    {"attn_ln", "self_attn_layer_norm"},
    {"attn.query", "self_attn.q_proj"},
    {"attn.key", "self_attn.k_proj"},
    {"attn.value", "self_attn.v_proj"},
    {"attn.out", "self_attn.out_proj"},
    {"cross_attn_ln", "encoder_attn_layer_norm"},
    {"cross_attn.query", "encoder_attn.q_proj"},
    {"cross_attn.key", "encoder_attn.k_proj"},
    {"cross_attn.value", "encoder_attn.v_proj"},
    {"cross_attn.out", "encoder_attn.out_proj"},
    {"mlp_ln", "final_layer_norm"},
    {"mlp.0", "fc1"},
    {"mlp.2", "fc2"},
};

template <size_t N>
std::optional<std::string_view> ggml_name(const GgmlNames (&names)[N], std::string_view module) {
  for (const auto& [from, to] : names) {
    if (from == module) return to;
  }
  return std::nullopt;
}

// The name in Hugging Face's checkpoints; nothing for a tensor that Whisper does not have.
std::optional<std::string> whisper_name(std::string_view name) {
  for (const std::string_view side : {"encoder", "decoder"}) {
    if (name == fmt::format("{}.positional_embedding", side)) {
      return fmt::format("model.{}.embed_positions.weight", side);
    }
  }
  // "weight", "bias" or "weight.q5_0".
  size_t end = name.rfind(".weight");
  if (end == name.npos) end = name.rfind(".bias");
  if (end == name.npos) return std::nullopt;
  const std::string_view module = name.substr(0, end), ending = name.substr(end);
  if (const auto top = ggml_name(kGgmlTop, module)) return fmt::format("{}{}", *top, ending);
  constexpr std::string_view kBlocks = "coder.blocks.";  // of the encoder and the decoder
  const size_t blocks = module.find(kBlocks);
  if (blocks != 2) return std::nullopt;
  const std::string_view rest = module.substr(blocks + kBlocks.size());
  const size_t dot = rest.find('.');
  if (dot == rest.npos) return std::nullopt;
  const auto part = ggml_name(kGgmlLayer, rest.substr(dot + 1));
  if (!part) return std::nullopt;
  return fmt::format("model.{}.layers.{}.{}{}", module.substr(0, blocks + 5), rest.substr(0, dot),
                     *part, ending);
}

// The rows of a layer's first feed-forward matrix.
int64_t inner_size(const GgmlContent& content, const char* tensor, const std::string& name) {
  const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                  [&](const GgufTensor& one) { return one.name == tensor; });
  if (found == content.tensors.end()) {
    fail(ErrorCode::InvalidFile, "{}: has no tensor {}: not a Whisper model", name, tensor);
  }
  return found->shape.front();
}

}  // namespace

std::string ggml_config(const GgmlContent& content, int64_t start, const std::string& name) {
  if (content.audio_width != content.text_width) {
    fail(ErrorCode::InvalidFile, "{}: n_audio_state is {}, n_text_state {}: must be equal", name,
         content.audio_width, content.text_width);
  }
  JsonWriter json;
  json.begin_object().member("model_type", "whisper").member(kGgufKey, "whisper");
  json.key("architectures").begin_array().value("WhisperForConditionalGeneration").end_array();
  json.member("vocab_size", content.vocab_size).member("d_model", content.audio_width);
  json.member("num_mel_bins", content.bands);
  json.member("encoder_layers", content.audio_layers);
  json.member("encoder_attention_heads", content.audio_heads);
  json.member("encoder_ffn_dim", inner_size(content, "encoder.blocks.0.mlp.0.weight", name));
  json.member("decoder_layers", content.text_layers);
  json.member("decoder_attention_heads", content.text_heads);
  json.member("decoder_ffn_dim", inner_size(content, "decoder.blocks.0.mlp.0.weight", name));
  json.member("max_source_positions", content.audio_context);
  json.member("max_target_positions", content.text_context);
  json.member("activation_function", "gelu").member("is_encoder_decoder", true);
  json.member("tie_word_embeddings", true).member("decoder_start_token_id", start);
  return json.end_object().text();
}

bool is_ggml(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.files().begin(), checkpoint.files().end(), [](const auto& file) {
    return file->file().path().extension() == ".bin" && looks_like_ggml(file->file().bytes());
  });
}

Checkpoint ggml_checkpoint(const Checkpoint& checkpoint) {
  return checkpoint.divided([&](const TensorInfo& tensor) -> Checkpoint::Parts {
    const auto name = whisper_name(tensor.name);
    if (!name) {
      fail(ErrorCode::InvalidFile, "{}: tensor {} is not one of Whisper's",
           checkpoint.files().front()->file().path().filename().string(), tensor.name);
    }
    TensorInfo renamed = tensor;
    renamed.name = *name;
    // The biases of convolutions are columns.
    if (name->ends_with(".bias")) renamed.shape = {tensor.num_elements()};
    return std::vector<TensorInfo>{std::move(renamed)};
  });
}

}  // namespace pippin::models
