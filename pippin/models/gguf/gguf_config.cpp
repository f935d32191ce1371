#include "pippin/models/gguf/gguf_config.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_architectures.h"
#include "pippin/models/gguf/gguf_checks.h"

namespace pippin::models {
namespace {

struct EncoderRow {
  std::string_view name;
  void (*write)(const GgufKeys& keys, JsonWriter& json);
};
constexpr EncoderRow kEncoders[] = {
    {"bert", write_gguf_bert},
    {"nomic-bert", write_gguf_nomic_bert},
    {"t5", write_gguf_t5},
    {"t5encoder", write_gguf_t5_encoder},
};

// Members of all decoders.
constexpr GgufField kCommon[] = {
    {"max_position_embeddings", "context_length"},
    {"rope_theta", "rope.freq_base"},
    {"num_experts_per_tok", "expert_used_count"},
    {"bos_token_id", "tokenizer.ggml.bos_token_id"},
    {"eos_token_id", "tokenizer.ggml.eos_token_id"},
};

constexpr std::string_view kGating = "expert_gating_func";

class DecoderConfig {
 public:
  DecoderConfig(const GgufKeys& keys, const GgufArchitecture& row)
      : keys_(keys), metadata_(keys.metadata()), row_(row), config_(keys) {}

  std::string write() {
    config_.set("architectures", std::vector<std::string>{std::string(row_.class_name)});
    config_.set("model_type", row_.model_type);
    config_.set(kGgufKey, row_.name);
    config_.set(kGgufModules, config_.block_modules());
    // The converter reorders the architecture's neighbouring pairs if positions have several axes.
    const bool halves = keys_.has_key("rope.dimension_sections");
    if (row_.pairs || halves) config_.set(kGgufPairs, row_.pairs);
    config_.set("torch_dtype", "float16");
    if (const auto gating = keys_.size(kGating)) {
      config_.set(kGgufGating, *gating);
      config_.set(kGgufGatingKey, fmt::format("{}: {}", metadata_.name(), keys_.full(kGating)));
    }
    check_attention();
    for (const GgufField& field : kCommon) config_.set_from(field.member, field.source);
    sizes();
    norms();
    rope();
    window();
    for (const GgufField& field : row_.fields) config_.set_from(field.member, field.source);
    for (const auto& [member, value] : Json::parse(row_.members, "members").members()) {
      config_.set_json(member, value.dump());
    }
    if (row_.write != nullptr) row_.write(config_);
    check_gguf_tensors(config_, row_.varies);
    return config_.text();
  }

 private:
  void check_attention() {
    if (gguf_pooling(keys_) == GgufPooling::Rank) {
      if (row_.encodes) keys_.unsupported("pooling_type", "4 (scores) is not supported for it");
      config_.set(kGgufScores, gguf_score_rows(keys_));
    }
    if (!row_.encodes && !metadata_.flag(keys_.full("attention.causal")).value_or(true)) {
      keys_.unsupported("attention.causal", "is supported for causal models only");
    }
  }

  // The largest one, if layers differ.
  int64_t size_of(std::string_view key) {
    if (!row_.varies) return keys_.required_size(key);
    const std::vector<int64_t> all = config_.by_layer(key);
    return *std::max_element(all.begin(), all.end());
  }

  void sizes() {
    hidden_ = keys_.required_size("embedding_length");
    heads_ = size_of("attention.head_count");
    config_.set("vocab_size", keys_.rows("token_embd.weight"));
    config_.set("hidden_size", hidden_);
    config_.set("num_hidden_layers", config_.layers());
    keys_.required_size("context_length");
    if (heads_ > 0) config_.set("num_attention_heads", heads_);
    if (keys_.has_key("feed_forward_length") && size_of("feed_forward_length") > 0) {
      config_.set("intermediate_size", size_of("feed_forward_length"));
    }
    const bool grouped = keys_.has_key("attention.head_count_kv");
    const int64_t kv_heads = grouped ? size_of("attention.head_count_kv") : heads_;
    if (kv_heads > 0) config_.set("num_key_value_heads", kv_heads);
    head_dim_ = keys_.size("attention.key_length").value_or(heads_ > 0 ? hidden_ / heads_ : 0);
    if (head_dim_ > 0) config_.set("head_dim", head_dim_);
    config_.set("tie_word_embeddings", metadata_.tensor("output.weight") == nullptr);
  }

  // Configurations have a name for each kind of norm; a model has one kind.
  void norms() {
    const auto root = keys_.number("attention.layer_norm_rms_epsilon");
    const auto layer = keys_.number("attention.layer_norm_epsilon");
    if (!root && !layer) keys_.required_number("attention.layer_norm_rms_epsilon");
    config_.set("rms_norm_eps", root ? *root : *layer);
    for (const char* name : {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"}) {
      config_.set(name, layer ? *layer : *root);
    }
  }

  void rope() {
    if (head_dim_ > 0) {
      const int64_t dims = keys_.size("rope.dimension_count").value_or(head_dim_);
      config_.set("partial_rotary_factor",
                  static_cast<double>(dims) / static_cast<double>(head_dim_));
    }
    config_.set_json("rope_scaling", "null");
    const std::string kind = metadata_.text(keys_.full("rope.scaling.type")).value_or("none");
    const auto factor = keys_.number("rope.scaling.factor");
    if (metadata_.tensor("rope_factors_long.weight") != nullptr) {
      factors("rope_factors_short.weight", "rope_factors_long.weight",
              keys_.size("rope.scaling.original_context_length")
                  .value_or(keys_.required_size("context_length")),
              keys_.number("rope.scaling.attn_factor"));
    } else if (metadata_.tensor("rope_freqs.weight") != nullptr) {
      // Llama 3's scaling, as divisors of frequencies.
      factors("rope_freqs.weight", "rope_freqs.weight", keys_.required_size("context_length"), 1.0);
    } else if (kind == "linear" && factor) {
      JsonWriter json;
      json.begin_object().member("rope_type", "linear").member("factor", *factor).end_object();
      config_.set_json("rope_scaling", json.text());
    } else if (kind == "yarn" && factor) {
      yarn(*factor);
    } else if (kind != "none" && factor.value_or(1) != 1) {
      keys_.unsupported("rope.scaling.type", fmt::format("'{}' is not supported", kind));
    }
  }

  void factors(std::string_view shorter, std::string_view longer, int64_t original,
               std::optional<double> magnitude) {
    JsonWriter json;
    json.begin_object().member("rope_type", "longrope");
    json.member("short_factor", metadata_.tensor_numbers(shorter));
    json.member("long_factor", metadata_.tensor_numbers(longer));
    json.member("original_max_position_embeddings", original);
    if (magnitude) json.member("attention_factor", *magnitude);
    config_.set_json("rope_scaling", json.end_object().text());
  }

  void yarn(double factor) {
    JsonWriter json;
    json.begin_object().member("rope_type", "yarn").member("factor", factor);
    const auto number = [&](const char* member, std::string_view key) {
      if (const auto value = keys_.number(key)) json.member(member, *value);
    };
    if (const auto original = keys_.size("rope.scaling.original_context_length")) {
      json.member("original_max_position_embeddings", *original);
    }
    number("beta_fast", "rope.scaling.yarn_beta_fast");
    number("beta_slow", "rope.scaling.yarn_beta_slow");
    number("attention_factor", "rope.scaling.yarn_attn_factor");
    if (const auto whole = metadata_.flag(keys_.full("rope.scaling.yarn_truncate"))) {
      json.member("truncate", *whole);
    }
    if (const auto multiplier = keys_.number("rope.scaling.yarn_log_multiplier")) {
      // The key is a tenth of the value in the first models that had it.
      const bool latent = keys_.has_key("attention.kv_lora_rank");
      const double scale = latent ? *multiplier * 10 : *multiplier;
      json.member("mscale", scale).member("mscale_all_dim", scale);
    }
    number("llama_4_scaling_beta", "attention.temperature_scale");
    config_.set_json("rope_scaling", json.end_object().text());
  }

  void window() {
    const auto window = keys_.size("attention.sliding_window");
    if (window.value_or(0) > 0) config_.set("sliding_window", *window);
    const std::string pattern = keys_.full("attention.sliding_window_pattern");
    if (metadata_.is_array(pattern)) {
      config_.set_kinds("layer_types", config_.by_layer("attention.sliding_window_pattern"),
                        "sliding_attention", "full_attention");
    } else if (const auto every = metadata_.size(pattern)) {
      config_.set("sliding_window_pattern", *every);
    }
  }

  const GgufKeys& keys_;
  const GgufMetadata& metadata_;
  const GgufArchitecture& row_;
  GgufConfig config_;
  int64_t heads_ = 0, hidden_ = 0, head_dim_ = 0;
};

bool is_given(const GgufConfig& given, std::string_view source) {
  if (source.empty()) return true;
  if (source.starts_with("has:")) return given.has_in_blocks(source.substr(4));
  return given.keys().number(source).value_or(0) != 0;
}

[[noreturn]] void refuse(const GgufMetadata& metadata, const std::string& name) {
  if (name == "clip") {
    metadata.unsupported("general.architecture",
                         "'clip': a vision tower; name it with --mmproj and the language model's "
                         "file as the model");
  }
  std::vector<std::string_view> known;
  for (const GgufArchitecture& row : gguf_decoders()) {
    if (known.empty() || known.back() != row.name) known.push_back(row.name);
  }
  for (const EncoderRow& row : kEncoders) known.push_back(row.name);
  metadata.unsupported("general.architecture",
                       fmt::format("'{}' is not supported as a model (known: {})",
                                   name.substr(0, 60), fmt::join(known, ", ")));
}

}  // namespace

GgufConfig::GgufConfig(const GgufKeys& keys) : keys_(keys) {
  for (const GgufTensor& tensor : keys.metadata().tensors()) {
    if (!tensor.name.starts_with("blk.")) continue;
    const size_t dot = tensor.name.find('.', 4);
    if (dot != tensor.name.npos) blocks_.emplace(tensor.name.substr(dot + 1), &tensor);
  }
  const int64_t further = keys.size("nextn_predict_layers").value_or(0);
  layers_ = keys.required_size("block_count") - further;
  if (layers_ < 1) keys.metadata().invalid(keys.full("block_count"), "leaves no layers");
  // Each layer has a tensor, so that memory for layers is in proportion to the file.
  const auto most = std::max<int64_t>(std::ssize(keys.metadata().tensors()), 1);
  if (layers_ > most) {
    keys.metadata().invalid(keys.full("block_count"),
                            fmt::format("{}, but the file has {} tensors", layers_, most));
  }
}

const GgufTensor* GgufConfig::find_in_blocks(std::string_view name) const {
  const auto found = blocks_.lower_bound(name);
  if (found == blocks_.end() || !found->first.starts_with(name)) return nullptr;
  const bool whole = found->first.size() == name.size() || found->first[name.size()] == '.';
  return whole ? found->second : nullptr;
}

std::vector<std::string> GgufConfig::block_modules() const {
  std::vector<std::string> modules;
  for (const auto& [name, tensor] : blocks_) {
    const size_t end = std::min(name.rfind(".weight"), name.rfind(".bias"));
    std::string module = name.substr(0, end);
    if (modules.empty() || modules.back() != module) modules.push_back(std::move(module));
  }
  return modules;
}

void GgufConfig::set_from(std::string_view member, std::string_view source) {
  if (source.starts_with("has:")) {
    return set(member, has_in_blocks(source.substr(4)) || keys_.has(source.substr(4)));
  }
  if (source.starts_with("rows:")) {
    const GgufTensor* tensor = find_in_blocks(fmt::format("{}.weight", source.substr(5)));
    if (tensor != nullptr && tensor->shape.size() >= 2) {
      set(member, tensor->shape[tensor->shape.size() - 2]);
    }
    return;
  }
  if (source.starts_with("leading:")) {
    const std::vector<int64_t> all = layers_with(source.substr(8));
    return set(member, std::find(all.begin(), all.end(), 1) - all.begin());
  }
  const bool general = source.starts_with("tokenizer.");
  if (auto json = keys_.metadata().json(general ? std::string(source) : keys_.full(source))) {
    set_json(member, std::move(*json));
  }
}

std::vector<int64_t> GgufConfig::by_layer(std::string_view key) const {
  const std::string full = keys_.full(key);
  const GgufMetadata& metadata = keys_.metadata();
  if (!metadata.is_array(full)) {
    return std::vector<int64_t>(static_cast<size_t>(layers_), keys_.required_size(key));
  }
  const std::vector<double> all = metadata.numbers(full);
  const int64_t blocks = keys_.required_size("block_count");
  if (std::ssize(all) != blocks) {
    metadata.invalid(full, fmt::format("{} numbers for {} blocks", all.size(), blocks));
  }
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(layers_));
  for (int64_t i = 0; i < layers_; ++i) {
    numbers.push_back(metadata.checked_size(full, all[static_cast<size_t>(i)]));
  }
  return numbers;
}

std::vector<int64_t> GgufConfig::layers_with(std::string_view name) const {
  std::vector<int64_t> result(static_cast<size_t>(layers_), 0);
  for (const GgufTensor& tensor : keys_.metadata().tensors()) {
    if (!tensor.name.starts_with("blk.")) continue;
    const size_t dot = tensor.name.find('.', 4);
    if (dot == tensor.name.npos || dot > 12) continue;
    const std::string_view rest = std::string_view(tensor.name).substr(dot + 1);
    const bool same =
        rest.starts_with(name) && (rest.size() == name.size() || rest[name.size()] == '.');
    const auto block = std::strtoull(tensor.name.c_str() + 4, nullptr, 10);
    if (same && block < result.size()) result[block] = 1;
  }
  return result;
}

void GgufConfig::set_kinds(std::string_view member, const std::vector<int64_t>& numbers,
                           std::string_view positive, std::string_view zero) {
  std::vector<std::string> kinds;
  kinds.reserve(numbers.size());
  for (const int64_t number : numbers) kinds.emplace_back(number != 0 ? positive : zero);
  set(member, kinds);
}

std::optional<int64_t> GgufConfig::size(std::string_view member) const {
  const auto found = members_.find(std::string(member));
  if (found == members_.end()) return std::nullopt;
  const Json value = Json::parse(found->second, found->first);
  return value.is_number() ? std::optional(value.as_int()) : std::nullopt;
}

void GgufConfig::write_plain_rope() {
  std::string& scaling = members_["rope_scaling"];
  if (scaling.empty() || scaling == "null") scaling = R"({"rope_type": "default"})";
}

std::string JsonMembers::text() const {
  JsonWriter json(1);
  json.begin_object();
  for (const auto& [member, value] : members_) json.key(member).raw(value);
  return json.end_object().text() + "\n";
}

const std::vector<GgufArchitecture>& gguf_decoders() {
  static const std::vector<GgufArchitecture> rows = [] {
    std::vector<GgufArchitecture> all;
    for (auto family :
         {gguf_dense_architectures, gguf_gemma_architectures, gguf_older_architectures,
          gguf_expert_architectures, gguf_latent_architectures, gguf_state_architectures}) {
      auto part = family();
      std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    return all;
  }();
  return rows;
}

std::string gguf_config(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string architecture = metadata.text("general.architecture").value_or("");
  const GgufKeys keys(metadata, architecture);
  for (const EncoderRow& row : kEncoders) {
    if (row.name != architecture) continue;
    JsonWriter json(1);
    json.begin_object().member(kGgufKey, row.name);
    row.write(keys, json);
    return json.end_object().text() + "\n";
  }
  std::optional<GgufConfig> given;
  for (const GgufArchitecture& row : gguf_decoders()) {
    if (row.name != architecture) continue;
    if (!given) given.emplace(keys);
    if (is_given(*given, row.when)) return DecoderConfig(keys, row).write();
  }
  refuse(metadata, architecture);
}

}  // namespace pippin::models
