#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_keys.h"

namespace pippin::models {
namespace {

struct Architecture {
  std::string_view name, model_type, class_name;  // the last two for decoders
  void (*write_encoder)(const GgufKeys& keys, JsonWriter& json) = nullptr;
};
constexpr Architecture kKnown[] = {
    {"llama", "llama", "LlamaForCausalLM"},
    {"qwen2", "qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM"},
    {"gemma", "gemma", "GemmaForCausalLM"},
    {"gemma2", "gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM"},
    {"phi3", "phi3", "Phi3ForCausalLM"},
    {"gemma-embedding", "gemma3_text", "Gemma3TextModel"},
    {"bert", "", "", write_gguf_bert},
    {"nomic-bert", "", "", write_gguf_nomic_bert},
    {"t5", "", "", write_gguf_t5},
    {"t5encoder", "", "", write_gguf_t5_encoder},
};

const Architecture& known_architecture(const GgufMetadata& metadata) {
  const std::string name = metadata.text("general.architecture").value_or("");
  std::vector<std::string_view> names;
  for (const Architecture& one : kKnown) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  metadata.unsupported("general.architecture",
                       fmt::format("'{}' is not read as a model (known: {})", name.substr(0, 60),
                                   fmt::join(names, ", ")));
}

class DecoderConfig {
 public:
  DecoderConfig(const GgufMetadata& metadata, const Architecture& architecture)
      : metadata_(metadata), architecture_(architecture), keys_(metadata, architecture.name) {}

  std::string write() {
    json_.begin_object();
    json_.key("architectures").begin_array().value(architecture_.class_name).end_array();
    json_.member("model_type", architecture_.model_type).member(kGgufKey, architecture_.name);
    attention_kind();
    sizes();
    rope();
    own();
    tokens();
    json_.end_object();
    return json_.text() + "\n";
  }

 private:
  std::string key(std::string_view name) const { return keys_.full(name); }
  int64_t required(std::string_view name) const { return keys_.required_size(name); }

  void attention_kind() {
    if (gguf_pooling(keys_) == GgufPooling::Rank) {
      keys_.unsupported("pooling_type", "4, scores, is read of bert alone");
    }
    if (architecture_.name == "gemma-embedding") {
      json_.member("use_bidirectional_attention", true);
    } else if (!metadata_.flag(key("attention.causal")).value_or(true)) {
      keys_.unsupported("attention.causal", "is read of causal models alone");
    }
  }

  void sizes() {
    const int64_t vocabulary = keys_.rows("token_embd.weight");
    layers_ = required("block_count");
    heads_ = required("attention.head_count");
    hidden_ = required("embedding_length");
    json_.member("vocab_size", vocabulary).member("hidden_size", hidden_);
    json_.member("num_hidden_layers", layers_).member("num_attention_heads", heads_);
    json_.member("intermediate_size", required("feed_forward_length"));
    const std::string kv = key("attention.head_count_kv");
    json_.member("num_key_value_heads",
                 metadata_.find(kv) != nullptr ? required("attention.head_count_kv") : heads_);
    const auto own_dim = metadata_.size(key("attention.key_length"));
    head_dim_ = own_dim.value_or(heads_ > 0 ? hidden_ / heads_ : 0);
    if (own_dim) json_.member("head_dim", head_dim_);
    const auto values = metadata_.size(key("attention.value_length"));
    if (values.value_or(head_dim_) != head_dim_) {
      metadata_.unsupported(key("attention.value_length"), "values of another size than keys");
    }
    if (metadata_.size(key("expert_count")).value_or(0) > 0) {
      metadata_.unsupported(key("expert_count"), "mixtures of experts are not read from GGUF");
    }
    context_ = required("context_length");
    json_.member("max_position_embeddings", context_);
    json_.member("rms_norm_eps", keys_.required_number("attention.layer_norm_rms_epsilon"));
    json_.member("tie_word_embeddings", metadata_.tensor("output.weight") == nullptr);
    json_.member("torch_dtype", "float16");
  }

  void rope() {
    if (const auto base = metadata_.number(key("rope.freq_base"))) {
      json_.member("rope_theta", *base);
    }
    const auto dims = metadata_.size(key("rope.dimension_count"));
    if (dims && *dims != head_dim_) {
      if (architecture_.name != "phi3") {
        metadata_.unsupported(key("rope.dimension_count"), "only whole heads are turned");
      }
      json_.member("partial_rotary_factor",
                   static_cast<double>(*dims) / static_cast<double>(head_dim_));
    }
    const std::string kind = metadata_.text(key("rope.scaling.type")).value_or("none");
    const auto factor = metadata_.number(key("rope.scaling.factor"));
    if (metadata_.tensor("rope_factors_long.weight") != nullptr) {
      factors("rope_factors_short.weight", "rope_factors_long.weight",
              metadata_.size(key("rope.scaling.original_context_length")).value_or(context_),
              metadata_.number(key("rope.scaling.attn_factor")));
    } else if (metadata_.tensor("rope_freqs.weight") != nullptr) {
      // Llama 3's scaling, as divisors of frequencies.
      factors("rope_freqs.weight", "rope_freqs.weight", context_, 1.0);
    } else if (kind == "linear" && factor) {
      json_.key("rope_scaling").begin_object().member("rope_type", "linear");
      json_.member("factor", *factor).end_object();
    } else if (kind == "yarn" && factor) {
      json_.key("rope_scaling").begin_object().member("rope_type", "yarn");
      json_.member("factor", *factor);
      if (const auto original = metadata_.size(key("rope.scaling.original_context_length"))) {
        json_.member("original_max_position_embeddings", *original);
      }
      json_.end_object();
    } else if (kind != "none" && factor.value_or(1) != 1) {
      metadata_.unsupported(key("rope.scaling.type"), fmt::format("'{}' is not read", kind));
    }
  }

  void factors(std::string_view shorter, std::string_view longer, int64_t original,
               std::optional<double> magnitude) {
    json_.key("rope_scaling").begin_object().member("rope_type", "longrope");
    json_.member("short_factor", metadata_.tensor_numbers(shorter));
    json_.member("long_factor", metadata_.tensor_numbers(longer));
    json_.member("original_max_position_embeddings", original);
    if (magnitude) json_.member("attention_factor", *magnitude);
    json_.end_object();
  }

  // Members specific to one architecture.
  void own() {
    const std::string_view name = architecture_.name;
    const auto window = metadata_.size(key("attention.sliding_window"));
    const bool like_gemma3 = name == "gemma3" || name == "gemma-embedding";
    const bool slides = name == "gemma2" || like_gemma3 || name == "phi3";
    if (slides && window.value_or(0) > 0) json_.member("sliding_window", *window);
    if (name == "phi3" && window.value_or(0) == 0) json_.member("sliding_window", nullptr);
    if (name.starts_with("gemma")) {
      json_.member("hidden_activation", "gelu_pytorch_tanh");
      if (name == "gemma") json_.member("hidden_act", "gelu_pytorch_tanh");
    }
    if (name == "gemma2" || like_gemma3) {
      // 27B scales scores by the width instead.
      const bool largest = name != "gemma-embedding" && layers_ == (name == "gemma2" ? 46 : 62);
      json_.member("query_pre_attn_scalar",
                   largest ? static_cast<double>(hidden_) / static_cast<double>(heads_)
                           : static_cast<double>(head_dim_));
    }
    if (name == "gemma2") {
      json_.member("attn_logit_softcapping",
                   metadata_.number(key("attn_logit_softcapping")).value_or(50.0));
      json_.member("final_logit_softcapping",
                   metadata_.number(key("final_logit_softcapping")).value_or(30.0));
    }
    if (like_gemma3) pattern();
    if (name == "llama") {
      json_.member("attention_bias", metadata_.tensor("blk.0.attn_q.bias") != nullptr);
      json_.member("mlp_bias", metadata_.tensor("blk.0.ffn_gate.bias") != nullptr);
    }
  }

  // The sliding layers: all but every n-th, or a flag for each.
  void pattern() {
    const std::string each = key("attention.sliding_window_pattern");
    if (!metadata_.is_array(each)) {
      if (const auto one = metadata_.size(each)) json_.member("sliding_window_pattern", *one);
      return;
    }
    json_.key("layer_types").begin_array();
    for (const double slides : metadata_.numbers(each)) {
      json_.value(slides != 0 ? "sliding_attention" : "full_attention");
    }
    json_.end_array();
  }

  void tokens() {
    const auto id = [&](std::string_view name, std::string_view key) {
      if (const auto value = metadata_.size(key)) json_.member(name, *value);
    };
    id("bos_token_id", "tokenizer.ggml.bos_token_id");
    id("eos_token_id", "tokenizer.ggml.eos_token_id");
  }

  const GgufMetadata& metadata_;
  const Architecture& architecture_;
  GgufKeys keys_;
  JsonWriter json_{1};
  int64_t layers_ = 0, heads_ = 0, hidden_ = 0, head_dim_ = 0, context_ = 0;
};

}  // namespace

std::string gguf_config(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const Architecture& architecture = known_architecture(metadata);
  if (architecture.write_encoder == nullptr) return DecoderConfig(metadata, architecture).write();
  JsonWriter json(1);
  json.begin_object().member(kGgufKey, architecture.name);
  architecture.write_encoder(GgufKeys(metadata, architecture.name), json);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace pippin::models
