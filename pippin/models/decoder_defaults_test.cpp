// Decoders' configurations without keys have the values of their classes in Hugging Face's library.
#include <cmath>
#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/models/architectures.h"

namespace pippin::models {
namespace {

using Kind = nn::RopeScaling::Kind;

nn::DecoderOptions described(const std::string& type, const std::string& members = "") {
  return describe_architecture(
      Config(Json::parse(R"({"model_type": ")" + type + "\"" + members + "}", "config.json")), "");
}

const nn::LatentAttentionOptions& latent(const nn::LayerOptions& layer) {
  return std::get<nn::LatentAttentionOptions>(layer.mixer);
}

TEST(DecoderDefaults, RopesAreThoseOfTheClasses) {
  const struct {
    std::string type;
    size_t place;
    double theta;
    int64_t dims;
    Kind kind;
    double factor;
    int64_t original;
  } known[] = {
      {"cwm", 0, 1e6, 128, Kind::Llama3, 16, 8192},
      {"jais2", 0, 1e4, 128, Kind::Default, 1, 8192},
      {"laguna", 0, 5e5, 64, Kind::Default, 1, 8192},
      {"mimo_v2_flash", 0, 5e6, 64, Kind::Default, 1, 8192},
      {"mimo_v2_flash", 1, 1e4, 64, Kind::Default, 1, 8192},
      {"ministral3", 0, 1e6, 128, Kind::Yarn, 16, 16384},
      {"mistral4", 0, 1e4, 64, Kind::Yarn, 128, 8192},
      {"youtu", 0, 1e4, 64, Kind::Default, 1, 8192},
  };
  for (const auto& one : known) {
    SCOPED_TRACE(one.type);
    const nn::RopeOptions rope = described(one.type).ropes.at(one.place);
    EXPECT_EQ(rope.theta, one.theta);
    EXPECT_EQ(rope.dims, one.dims);
    EXPECT_EQ(rope.scaling.kind, one.kind);
    EXPECT_EQ(rope.scaling.factor, one.factor);
    EXPECT_EQ(rope.scaling.original_context, one.original);
  }
  EXPECT_EQ(described("ministral3").layers.at(0).attention().temperature->scale, 0.1);
  EXPECT_EQ(latent(described("mistral4").layers.at(0)).temperature->scale, 0.1);
  // A rope of the configuration replaces it as a whole.
  const std::string own = R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0})";
  EXPECT_EQ(described("cwm", own).ropes.at(0).scaling.kind, Kind::Default);
  EXPECT_FALSE(described("ministral3", own).layers.at(0).attention().temperature);
}

TEST(DecoderDefaults, OtherValuesToo) {
  const nn::DecoderOptions plain = described("hyperclovax");
  EXPECT_EQ(plain.hidden_size, 4096);
  EXPECT_EQ(plain.layers.at(0).attention_post_norm, "post_norm1");
  EXPECT_FALSE(plain.layers.at(0).attention().scale);
  EXPECT_EQ(described("hyperclovax", R"(, "use_post_norm": false)").layers[0].mlp_post_norm, "");
}

TEST(DecoderDefaults, OfMiniCPM3) {
  const nn::DecoderOptions plain = described("minicpm3");
  EXPECT_EQ(latent(plain.layers.at(0)).value_dims, 64);
  EXPECT_EQ(plain.logit_scale, 0.1);
  EXPECT_NEAR(plain.layers.at(0).residual_scale, 1.4 / std::sqrt(62.0), 1e-12);
  const nn::DecoderOptions unscaled = described(
      "minicpm3", R"(, "scale_depth": null, "dim_model_base": null, "hidden_size": 5120)");
  EXPECT_EQ(latent(unscaled.layers.at(0)).value_dims, 128);
  EXPECT_EQ(unscaled.logit_scale, 1.0);
  EXPECT_EQ(unscaled.layers.at(0).residual_scale, 1.0);
}

// Which layers of A.X K2 and Cohere 2 have experts or windows.
TEST(DecoderDefaults, LayersByPattern) {
  const auto axk2 = described("axk2", R"(, "num_hidden_layers": 6, "moe_layer_freq": 2)").layers;
  for (size_t i = 0; i < axk2.size(); ++i) {
    EXPECT_EQ(std::holds_alternative<nn::ExpertsOptions>(axk2[i].feed_forward), i > 0 && i % 2 == 0)
        << i;
  }
  const auto cohere =
      described("cohere2_moe", R"(, "num_hidden_layers": 7, "first_k_dense_replace": 2)").layers;
  for (size_t i = 0; i < cohere.size(); ++i) {
    EXPECT_EQ(cohere[i].attention().window.has_value(), i >= 2 && i != 5) << i;
  }
  EXPECT_EQ(cohere.at(0).attention().head_dim, 128);
}

// The layers of GLM-5 that use another one's choice of keys.
TEST(DecoderDefaults, PatternsOfIndexers) {
  const auto shares = [](const std::string& members) {
    std::string letters;
    for (const auto& layer :
         described("glm_moe_dsa", R"(, "num_hidden_layers": 4)" + members).layers) {
      letters += latent(layer).chosen_before ? 'S' : 'F';
    }
    return letters;
  };
  EXPECT_EQ(shares(R"(, "index_topk_pattern": "FSSF")"), "FSSF");
  EXPECT_EQ(shares(R"(, "index_topk_pattern": ["full", "full", "shared", "full", "shared"])"),
            "FFSF");
  EXPECT_ERROR(shares(R"(, "index_topk_pattern": ["full", "half", "full", "full"])"),
               ErrorCode::Unsupported, "index_topk_pattern: 'half' is not supported");
}

TEST(DecoderDefaults, OfGemma4) {
  const nn::DecoderOptions small = described("gemma4_text");
  EXPECT_EQ(small.context, 131072);
  EXPECT_EQ(small.layers.at(0).attention().window, 512);
  const nn::DecoderOptions unified = described("gemma4_unified_text");
  EXPECT_EQ(unified.context, 262144);
  EXPECT_EQ(unified.layers.at(0).attention().window, 1024);
}

// Nemotron-H's list of layers gives their number.
TEST(DecoderDefaults, LayersOfNemotronH) {
  EXPECT_EQ(described("nemotron_h").layers.size(), 4);
  const std::string kinds = R"(, "layers_block_type": ["mamba", "moe", "attention"])";
  EXPECT_EQ(described("nemotron_h", kinds + R"(, "num_hidden_layers": 52)").layers.size(), 3);
}

// mlp_bias, where the class has biases, and where it has the key only.
TEST(DecoderDefaults, BiasesOfFeedForwards) {
  const std::string biased = R"(, "mlp_bias": true)";
  for (const std::string type : {"cwm", "emu3_text_model", "minicpm3"}) {
    SCOPED_TRACE(type);
    EXPECT_TRUE(described(type, biased).layers.at(0).mlp().bias);
    EXPECT_FALSE(described(type).layers.at(0).mlp().bias);
  }
  EXPECT_FALSE(described("deepseek_v32", biased).layers.at(0).mlp().bias);
  EXPECT_FALSE(described("glm_moe_dsa", biased).layers.at(0).mlp().bias);
  const auto v4 = described("deepseek_v4", biased + R"(, "attention_bias": true)").layers.at(0);
  EXPECT_TRUE(std::get<nn::ExpertsOptions>(v4.feed_forward).shared->bias);
}

// Muse Glimmer's bases of layers only say which ones have positions.
TEST(DecoderDefaults, BasesOfMuseGlimmer) {
  const nn::DecoderOptions model =
      described("muse_glimmer_text", R"(, "num_hidden_layers": 3, "rope_theta": 500.0,
                                         "layer_rope_theta": [7.0, 0, 500.0])");
  EXPECT_EQ(model.ropes.at(0).theta, 500.0);
  EXPECT_TRUE(model.layers.at(0).attention().rope);
  EXPECT_FALSE(model.layers.at(1).attention().rope);
  EXPECT_EQ(model.layers.at(0).attention().rope, model.layers.at(2).attention().rope);
}

TEST(DecoderDefaults, OfStep) {
  const nn::DecoderOptions model = described("step3p5", R"(, "num_hidden_layers": 4,
      "layer_types": ["full_attention", "sliding_attention", "full_attention",
                      "sliding_attention", "sliding_attention"],
      "num_nextn_predict_layers": 1, "rope_theta": [5000000.0, 10000.0, 5000000.0, 10000.0, 1.0],
      "partial_rotary_factors": [0.5, 1.0, 0.5, 1.0, 1.0], "sliding_window": 512,
      "rope_scaling": {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0,
                       "high_freq_factor": 32.0, "original_max_position_embeddings": 131072},
      "attention_other_setting": {"num_attention_heads": 96})");
  EXPECT_EQ(model.ropes.at(0).dims, 64);
  EXPECT_EQ(model.ropes.at(0).theta, 5e6);
  EXPECT_EQ(model.ropes.at(0).scaling.kind, Kind::Llama3);
  EXPECT_EQ(model.ropes.at(1).dims, 128);
  EXPECT_EQ(model.ropes.at(1).theta, 1e4);
  EXPECT_EQ(model.ropes.at(1).scaling.kind, Kind::Default);
  EXPECT_EQ(model.layers.at(0).attention().num_heads, 64);
  EXPECT_EQ(model.layers.at(1).attention().num_heads, 96);
  EXPECT_EQ(model.layers.at(1).attention().window, 512);
  EXPECT_TRUE(std::holds_alternative<nn::MLPOptions>(model.layers.at(2).feed_forward));
  EXPECT_TRUE(std::get<nn::ExpertsOptions>(model.layers.at(3).feed_forward).activates_first);
  // Without keys all layers see everything.
  EXPECT_FALSE(described("step3p5").layers.at(1).attention().window);
  EXPECT_EQ(described("step3p5").ropes.at(0).theta, 1e4);
}

// Proportional ropes are of whole heads: the factor says how many pairs turn.
TEST(DecoderDefaults, ProportionalRopesAreOfWholeHeads) {
  const nn::DecoderOptions model =
      described("glm4_moe", R"(, "head_dim": 64, "partial_rotary_factor": 0.5,
                     "rope_scaling": {"rope_type": "proportional"})");
  EXPECT_EQ(model.ropes.at(0).dims, 64);
  EXPECT_EQ(model.ropes.at(0).scaling.kind, Kind::Proportional);
  EXPECT_EQ(model.ropes.at(0).scaling.turned, 16);
}

// No shared expert: 0 or null, but not an absent key; and other names of the number of experts.
TEST(DecoderDefaults, SharedExpertsAndTheirNumber) {
  const auto experts = [](const std::string& type, const std::string& members) {
    const auto model = described(type, R"(, "head_dim": 128)" + members);
    return std::get<nn::ExpertsOptions>(model.layers.back().feed_forward);
  };
  for (const std::string type : {"deepseek_v3", "glm4_moe", "mistral4", "deepseek_v4"}) {
    SCOPED_TRACE(type);
    EXPECT_TRUE(experts(type, "").shared);
    EXPECT_FALSE(experts(type, R"(, "n_shared_experts": 0)").shared);
    EXPECT_FALSE(experts(type, R"(, "n_shared_experts": null)").shared);
    EXPECT_EQ(experts(type, R"(, "num_local_experts": 40)").router.num_experts, 40);
  }
}

}  // namespace
}  // namespace pippin::models
