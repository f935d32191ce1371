// Configurations written by transformers 5 have the same meaning as their older forms.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
using Members = std::map<std::string, std::string>;  // a JSON object: keys and texts

Members members_of(const Json& json) {
  Members members;
  for (const auto& [key, value] : json.members()) members.emplace(key, value.dump());
  return members;
}

std::string text_of(const Members& members) {
  std::string text;
  for (const auto& [key, value] : members) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
  }
  return "{" + text + "}";
}

std::optional<std::string> take(Members& members, const std::string& key) {
  const auto node = members.extract(key);
  if (node.empty() || node.mapped() == "null") return std::nullopt;
  return node.mapped();
}

enum class Form { Flat, ByKind };

// Like RotaryEmbeddingConfigMixin, moves the settings of a configuration; nothing if it has none.
std::optional<std::string> rewritten(const Json& json, Form form) {
  Members config = members_of(json), rope;
  const std::string type = json.get_string_or("model_type", "");
  if (const auto text = json.find("text_config")) {
    const auto inner = rewritten(*text, form);
    if (inner) config["text_config"] = *inner;
    return inner ? std::optional(text_of(config)) : std::nullopt;
  }
  const bool scaled = json.has("rope_scaling");
  if (scaled) rope = members_of(json.at("rope_scaling"));
  config.erase("rope_scaling");
  if (const auto kind = take(rope, "type")) rope.emplace("rope_type", *kind);
  for (const char* key : {"rope_theta", "rotary_emb_base", "global_rope_theta"}) {
    if (const auto theta = take(config, key)) rope.emplace("rope_theta", *theta);
  }
  for (const char* key : {"partial_rotary_factor", "rotary_pct", "rotary_emb_fraction"}) {
    if (const auto factor = take(config, key)) rope.emplace("partial_rotary_factor", *factor);
  }
  if (rope.empty()) return std::nullopt;
  rope.emplace("rope_type", "\"default\"");
  if (scaled && json.has("original_max_position_embeddings")) {
    rope["original_max_position_embeddings"] = json.at("original_max_position_embeddings").dump();
  }
  Members sliding = rope;
  bool own_sliding = type == "olmo3";
  if (own_sliding) {
    const auto theta = take(rope, "rope_theta");
    sliding = {{"rope_type", "\"default\""}};
    if (theta) sliding["rope_theta"] = rope["rope_theta"] = *theta;
  }
  for (const char* key : {"rope_local_base_freq", "local_rope_theta"}) {
    if (const auto theta = take(config, key)) {
      sliding = {{"rope_type", "\"default\""}, {"rope_theta", *theta}};
      own_sliding = true;
    }
  }
  if (form == Form::Flat && own_sliding) return std::nullopt;  // transformers has no such form
  config["rope_parameters"] =
      form == Form::Flat
          ? text_of(rope)
          : text_of({{"full_attention", text_of(rope)}, {"sliding_attention", text_of(sliding)}});
  return text_of(config);
}

std::string shown(const nn::RopeOptions& rope) {
  const nn::RopeScaling& scaling = rope.scaling;
  return fmt::format("{} {} kind {}: {} {} {} {} {} {} {} {} {} [{}] [{}]", rope.dims, rope.theta,
                     static_cast<int>(scaling.kind), scaling.factor, scaling.low_frequency_factor,
                     scaling.high_frequency_factor, scaling.original_context, scaling.fast_turns,
                     scaling.slow_turns, scaling.whole_dims, scaling.attention_factor,
                     scaling.long_attention_factor.value_or(0),
                     fmt::join(scaling.short_factors, " "), fmt::join(scaling.long_factors, " "));
}

std::string shown(const std::vector<nn::RopeOptions>& ropes,
                  const std::vector<nn::LayerOptions>& layers, int64_t context) {
  std::string text = fmt::format("context {}\n", context);
  for (const nn::RopeOptions& rope : ropes) text += shown(rope) + "\n";
  for (const nn::LayerOptions& layer : layers) {
    if (const auto* attention = std::get_if<nn::AttentionOptions>(&layer.mixer)) {
      text += fmt::format(
          "{} of {}, {}, window {}\n", attention->rope ? static_cast<int>(*attention->rope) : -1,
          attention->rope_dims, attention->scale.value_or(0), attention->window.value_or(0));
    } else if (const auto* latent = std::get_if<nn::LatentAttentionOptions>(&layer.mixer)) {
      text += fmt::format("latent {}\n", latent->scale.value_or(0));
    }
  }
  return text;
}

// An architecture's ropes for the configuration, or the error.
std::string read(const std::string& text) {
  const Config config(Json::parse(text, "config.json", kPythonJson));
  config.ignore({"quantization_config", "quantization"});
  const std::string type = config.json().get_string_or("model_type", "");
  std::string result;
  if (is_encoder_type(type) || config.json().get_bool_or("use_bidirectional_attention", false)) {
    const auto model = describe_encoder(config).encoder;
    result = shown(model.ropes, model.layers, model.context);
  } else {
    const auto model = describe_architecture(config, "");
    result = shown(model.ropes, model.layers, model.context);
  }
  config.refuse_unread();
  return result;
}

std::vector<fs::path> configurations() {
  std::vector<fs::path> paths;
  for (const char* set : {"architectures", "architectures2"}) {
    for (const fs::path& folder : shared_entries(set)) {
      if (fs::exists(folder / "config.json")) paths.push_back(folder / "config.json");
    }
  }
  return paths;
}

TEST(RopeSettings, EveryArchitectureReadsBothForms) {
  const auto paths = configurations();
  if (paths.empty()) GTEST_SKIP() << shared_data_absent("architectures");
  size_t flat = 0, by_kind = 0;
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.parent_path().filename().string());
    const Json json = Json::load(path, kPythonJson);
    for (const Form form : {Form::Flat, Form::ByKind}) {
      const auto text = rewritten(json, form);
      if (!text) continue;
      (form == Form::Flat ? flat : by_kind) += 1;
      EXPECT_NO_THROW(EXPECT_EQ(read(*text), read(json.dump())) << *text) << *text;
    }
  }
  EXPECT_GE(flat, 70U);
  EXPECT_GE(by_kind, 75U);
}

// Every class with rotary positions must reject a setting that it does not know.
TEST(RopeSettings, UnknownSettingsAreRefusedByName) {
  const auto paths = configurations();
  if (paths.empty()) GTEST_SKIP() << shared_data_absent("architectures");
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.parent_path().filename().string());
    const Json json = Json::load(path, kPythonJson);
    auto text = rewritten(json, Form::Flat);
    if (!text) continue;
    const size_t at = text->find("\"rope_parameters\":{") + 19;
    const bool has_rope = !json.get_bool_or("alibi", false) &&
                          json.get_string_or("model_type", "") != "granitemoehybrid";
    if (!has_rope) continue;
    text->insert(at, "\"new_scaling_beta\":0.5,");
    EXPECT_ERROR(read(*text), ErrorCode::Unsupported, "rope_parameters.new_scaling_beta: 0.5");
  }
}

std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 1,
             "num_attention_heads": 2, )" +
         more + "}";
}

TEST(RopeSettings, FormsThatClashAreRefused) {
  EXPECT_EQ(read(llama(R"("rope_parameters": {"full_attention": {"rope_theta": 500},
                          "sliding_attention": {"rope_theta": 500}})")),
            read(llama(R"("rope_theta": 500)")));
  EXPECT_ERROR(read(llama(R"("rope_parameters": {"full_attention": {"rope_theta": 500},
                             "sliding_attention": {"rope_theta": 600}})")),
               ErrorCode::Unsupported,
               "rope_parameters.sliding_attention: a rope for this kind of layers is not");
  EXPECT_ERROR(read(llama(R"("rope_parameters": {"partial_rotary_factor": 0.5})")),
               ErrorCode::Unsupported,
               "rope_parameters.partial_rotary_factor: 0.5 is not supported");
  EXPECT_ERROR(read(llama(R"("rope_parameters": {"llama_4_scaling_beta": 0.1})")),
               ErrorCode::Unsupported, "rope_parameters.llama_4_scaling_beta: 0.1");
  EXPECT_ERROR(read(llama(R"("rope_parameters": [1])")), ErrorCode::InvalidFile,
               "rope_parameters: not an object");
  EXPECT_ERROR(read(llama(R"("layer_types": ["sliding_attention"])")), ErrorCode::Unsupported,
               "layer_types: [\"sliding_attention\"] is not supported");
  EXPECT_NO_THROW(read(llama(R"("rope_parameters": {"llama_4_scaling_beta": 0, "rope_theta": 5,
                                "mrope_section": [1, 2]}, "layer_types": ["full_attention"])")));
}

// The longrope of transformers 5 uses the object's factor; earlier versions used the contexts'
// ratio.
TEST(RopeSettings, LongropesFactorIsTheFormsOwn) {
  const std::string object = R"({"rope_type": "longrope", "short_factor": [1, 1, 1, 1],
      "long_factor": [2, 2, 2, 2], "original_max_position_embeddings": 64, "factor": 4.0})";
  const auto factor = [&](const std::string& key) {
    const std::string text = llama("\"max_position_embeddings\": 512, \"" + key + "\": " + object);
    return describe_architecture(Config(Json::parse(text, "config.json")), "")
        .ropes.at(0)
        .scaling.factor;
  };
  EXPECT_EQ(factor("rope_scaling"), 8.0);
  EXPECT_EQ(factor("rope_parameters"), 4.0);
}

// Two magnitudes: their ratio scales the rotation, the square of the second scales the scores.
TEST(RopeSettings, YarnScalesTheScoresOfLatentAttention) {
  for (const char* type : {"deepseek_v2", "deepseek_v3"}) {
    const auto read_model = [&](double scale, double all_dims) {
      return describe_architecture(
          Config(Json::parse(fmt::format(R"({{"model_type": "{}", "vocab_size": 11,
              "hidden_size": 16, "intermediate_size": 8, "moe_intermediate_size": 8,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
              "first_k_dense_replace": 1, "n_routed_experts": 8, "num_experts_per_tok": 2,
              "n_group": 2, "topk_group": 1, "q_lora_rank": null, "kv_lora_rank": 8,
              "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 8,
              "max_position_embeddings": 256, "rope_parameters": {{"rope_type": "yarn",
              "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 32,
              "mscale": {}, "mscale_all_dim": {}}}}})",
                                         type, scale, all_dims),
                             "config.json")),
          "");
    };
    const auto magnitude = [](double scale) { return 0.1 * scale * std::log(8.0) + 1; };
    for (const auto& [scale, all_dims] : {std::pair(0.707, 0.707), std::pair(1.0, 0.5)}) {
      SCOPED_TRACE(fmt::format("{} {} {}", type, scale, all_dims));
      const nn::DecoderOptions model = read_model(scale, all_dims);
      EXPECT_DOUBLE_EQ(model.ropes.at(0).scaling.attention_factor,
                       magnitude(scale) / magnitude(all_dims));
      const auto& attention = std::get<nn::LatentAttentionOptions>(model.layers.at(0).mixer);
      EXPECT_NEAR(attention.scale.value_or(0), 0.25 * magnitude(all_dims) * magnitude(all_dims),
                  1e-12);
    }
    // Without the second the first is not used.
    EXPECT_DOUBLE_EQ(read_model(0.5, 0).ropes.at(0).scaling.attention_factor, magnitude(1));
  }
}

}  // namespace
}  // namespace pippin::models
