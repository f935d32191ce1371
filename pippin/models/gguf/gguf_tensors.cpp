#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_keys.h"
#include "pippin/models/gguf/gguf_layout.h"
#include "pippin/models/gguf/gguf_names.h"
#include "pippin/models/gguf/gguf_projector.h"

namespace pippin::models {
namespace {

bool is_t5(std::string_view architecture) {
  return architecture == "t5" || architecture == "t5encoder";
}

using Module = std::pair<std::string_view, std::string_view>;

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

// Hugging Face's names of an encoder's tensors.
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
    return "encoder.layers";
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
    return t5_module(name, decodes);
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

// Tensors that the configuration contains, or that the model's original implementation does not
// read.
bool is_left_out(std::string_view name) {
  return name.starts_with("rope_f") || name.find(".cross_attn_rel_b.") != name.npos ||
         name.ends_with(".input_scale");
}

// The logarithm of decay rates; the format stores the rates themselves, negated.
std::vector<std::byte> logarithms(const TensorInfo& tensor) {
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, &bytes[i], sizeof(float));
    value = std::log(-value);
    std::memcpy(&bytes[i], &value, sizeof(float));
  }
  return bytes;
}

// Parts of the tensors of a decoder, under the names of its description.
class DecoderTensors {
 public:
  // `types`: an encoder's table of token types, an empty name for none.
  DecoderTensors(const nn::DecoderOptions& model, const std::string& types,
                 const Checkpoint& checkpoint)
      : names_(model, checkpoint.contains("blk.0.attn_norm_2.weight")),
        layers_(std::ssize(model.layers)),
        file_(checkpoint.path()) {
    names_.add("token_types", types);
  }

  Checkpoint::Parts operator()(const TensorInfo& tensor) const {
    if (is_left_out(tensor.name) || is_further(tensor.name)) return std::vector<TensorInfo>();
    if (const Place* whole = names_.find(tensor.name)) {
      // Falcon-H1's norms lack the suffix.
      return parts(tensor, *whole, tensor.name.ends_with("norm") ? ".weight" : "");
    }
    const size_t end = std::min(
        {tensor.name.find(".weight"), tensor.name.find(".bias"), tensor.name.find(".scale")});
    if (end == tensor.name.npos) return std::nullopt;
    const Place* module = names_.find(std::string_view(tensor.name).substr(0, end));
    if (module == nullptr) return std::nullopt;
    return parts(tensor, *module, tensor.name.substr(end));
  }

 private:
  using Place = GgufNames::Place;
  using Form = GgufNames::Form;

  // A multi-token prediction block.
  bool is_further(std::string_view name) const {
    if (!name.starts_with("blk.")) return false;
    int64_t block = 0;
    for (size_t i = 4; i < name.size() && name[i] >= '0' && name[i] <= '9' && block < layers_;
         ++i) {
      block = block * 10 + (name[i] - '0');
    }
    return block >= layers_;
  }

  std::vector<TensorInfo> parts(const TensorInfo& tensor, const Place& place,
                                const std::string& ending) const {
    const bool is_vector = ending.starts_with(".bias");
    if (place.form == Form::Experts) return stack(tensor, place.name, place.part, ending);
    if (place.form == Form::GateAndUp) return gates_and_ups(tensor, place.name, ending);
    TensorInfo one = tensor;
    one.name = place.name + ending;
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    if (place.form == Form::Vector) one.shape = {elements};
    const int64_t last = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (place.form == Form::Matrix && last > 0) one.shape = {elements / last, last};
    if (place.form == Form::Convolution && !is_vector && tensor.shape.size() == 2) {
      one.shape = {tensor.shape[0], 1, tensor.shape[1]};
    }
    return {std::move(one)};
  }

  std::vector<TensorInfo> stack(const TensorInfo& tensor, const std::string& path,
                                const std::string& part, const std::string& ending) const {
    const bool is_vector = ending.starts_with(".bias"), is_number = ending == ".scale";
    // An axis of size 0 lets others have any size.
    if (tensor.shape.size() != (is_number   ? 1U
                                : is_vector ? 2U
                                            : 3U) ||
        tensor.shape[0] < 1 || tensor.shape[0] > kMaxExperts) {
      fail(ErrorCode::InvalidFile, "{}: tensor {} of shape [{}] is not one {} for each expert",
           file_.filename().string(), tensor.name, fmt::join(tensor.shape, ", "),
           is_number   ? "number"
           : is_vector ? "vector"
                       : "matrix");
    }
    const auto count = static_cast<size_t>(tensor.shape[0]);
    const size_t bytes = tensor.bytes.size() / count;
    std::vector<TensorInfo> all(count, tensor);
    for (size_t i = 0; i < count; ++i) {
      all[i].name = fmt::format("{}.{}{}{}{}", path, i, part.empty() ? "" : ".", part, ending);
      all[i].shape.erase(all[i].shape.begin());
      all[i].bytes = tensor.bytes.subspan(i * bytes, bytes);
    }
    return all;
  }

  std::vector<TensorInfo> gates_and_ups(const TensorInfo& tensor, const std::string& path,
                                        const std::string& ending) const {
    constexpr std::string_view kGate = "gate_proj";
    std::vector<TensorInfo> all;
    for (TensorInfo& both : stack(tensor, path, std::string(kGate), ending)) {
      TensorInfo up = both;
      up.name.replace(up.name.rfind(kGate), kGate.size(), "up_proj");
      if (both.shape.empty()) {  // a factor of both
        all.push_back(std::move(both));
        all.push_back(std::move(up));
        continue;
      }
      if (both.shape[0] % 2 != 0) {
        fail(ErrorCode::InvalidFile, "{}: tensor {} has {} rows, an odd number of gate and up",
             file_.filename().string(), tensor.name, both.shape[0]);
      }
      both.shape[0] /= 2;
      up.shape[0] /= 2;
      const size_t bytes = both.bytes.size() / 2;
      up.bytes = both.bytes.subspan(bytes);
      both.bytes = both.bytes.first(bytes);
      all.push_back(std::move(both));
      all.push_back(std::move(up));
    }
    return all;
  }

  GgufNames names_;
  int64_t layers_;
  std::filesystem::path file_;
};

std::string below(const std::string& base, const std::string& name) {
  return base.empty() ? name : fmt::format("{}.{}", base, name);
}

// The properties that names depend on.
nn::DecoderOptions as_decoder(const nn::EncoderOptions& encoder) {
  nn::DecoderOptions model;
  model.base = encoder.bases.front();
  model.embedding = encoder.embedding;
  model.embedding_norm = encoder.embedding_norm;
  model.final_norm = encoder.final_norm;
  model.layers_path = encoder.layers_path;
  model.layers = encoder.layers;
  return model;
}

Checkpoint decoder_checkpoint(const Checkpoint& checkpoint, const Json& json) {
  const Config config(json);
  const bool encodes = config.flag("use_bidirectional_attention", false) ||
                       is_encoder_type(config.text("model_type", ""));
  nn::DecoderOptions model;
  std::string types;
  if (encodes) {
    const nn::EncoderOptions encoder = describe_encoder(config).encoder;
    model = as_decoder(encoder);
    if (!encoder.token_types.empty()) types = below(model.base, encoder.token_types);
  } else {
    model = describe_architecture(config, "");
  }
  use_gguf_layout(config, model);
  const bool has_tower = config.contains(kGgufProjector);
  if (has_tower) {  // under a name of its own, as in checkpoints with a tower
    model.base = model.roots.at(0).base;
    model.head = model.roots.at(0).head;
  }
  const Checkpoint divided = (has_tower ? with_projector_names(checkpoint, json) : checkpoint)
                                 .divided(DecoderTensors(model, types, checkpoint));
  return divided.renamed([](const TensorInfo& tensor) -> Checkpoint::Renamed {
    Checkpoint::Renamed same{tensor.name};
    const bool decays = tensor.name.ends_with(".A_log") && tensor.dtype == Dtype::F32;
    if (decays) same.bytes = logarithms(tensor);
    return same;
  });
}

}  // namespace

bool is_gguf(const Checkpoint& checkpoint) {
  return std::all_of(checkpoint.files().begin(), checkpoint.files().end(),
                     [](const auto& file) { return file->file().path().extension() == ".gguf"; });
}

Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const Json& config) {
  const std::string architecture = config.get_string_or(kGgufKey, "");
  if (architecture != "bert" && architecture != "nomic-bert" && !is_t5(architecture)) {
    return decoder_checkpoint(checkpoint, config);
  }
  const std::vector<std::string> all = checkpoint.names();
  const Names names(architecture, std::any_of(all.begin(), all.end(), [](const std::string& name) {
                      return name.starts_with("enc.blk.0.ffn_gate.");
                    }));
  return checkpoint.renamed([&](const TensorInfo& tensor) -> Checkpoint::Renamed {
    if (is_left_out(tensor.name)) return {};
    return {names.of(tensor.name)};
  });
}

void apply_gguf(const Config& config, nn::DecoderOptions& model) {
  if (config.text(kGgufKey, "").empty()) return;
  model.packed = nn::gguf_weights();
  use_gguf_layout(config, model);
  // Where the tower's tensors are reported that it does not need.
  if (config.contains(kGgufProjector))
    model.other_parts.insert(model.other_parts.end(), {"v.", "mm."});
}

void use_gguf_scores(const Config& config, nn::DecoderOptions& model) {
  if (!config.contains(kGgufScores)) return;
  model.vocab_size = config.size(kGgufScores, 1, 2);
  model.head = kGgufScoreHead;
  model.roots.clear();
  model.tied = model.tied_without_head = false;
  model.head_bias = false;
  model.logit_scale = 1.0;
  model.logit_softcap.reset();
}

void apply_gguf(const Config& config, EncoderDescription& model) {
  if (config.text(kGgufKey, "").empty()) return;
  model.encoder.packed = nn::gguf_weights();
  use_gguf_layout(config, model.encoder);
  if (config.flag(kGgufBareHead, false)) model.classifier.dense.clear();
}

}  // namespace pippin::models
