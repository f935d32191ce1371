// Configurations without sizes have those of their classes in Hugging Face's library.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {
namespace {

Config config_of(const std::string& text) {
  return Config(Json::parse(text, "config.json"));
}

struct EncoderSizes {
  std::string_view text;
  int64_t vocab_size, width, layers, context, token_types;
};

TEST(EncoderDefaults, AreThoseOfTheClasses) {
  const EncoderSizes known[] = {
      {R"({"model_type": "albert"})", 30000, 4096, 12, 512, 2},
      {R"({"model_type": "bert"})", 30522, 768, 12, 512, 2},
      {R"({"model_type": "deberta", "relative_attention": true})", 50265, 768, 12, 512, 0},
      {R"({"model_type": "deberta-v2", "relative_attention": true})", 128100, 1536, 24, 512, 0},
      {R"({"model_type": "distilbert"})", 30522, 768, 6, 512, 2},
      {R"({"model_type": "electra"})", 30522, 256, 12, 512, 2},
      {R"({"model_type": "esm", "vocab_size": 33})", 33, 768, 12, 1024, 2},
      {R"({"model_type": "jina_embeddings_v3"})", 250002, 1024, 24, 8194, 1},
      {R"({"model_type": "megatron-bert"})", 29056, 1024, 24, 512, 2},
      {R"({"model_type": "new"})", 30528, 768, 12, 2048, 1},
      {R"({"model_type": "nomic_bert"})", 30528, 768, 12, 2048, 2},
      {R"({"model_type": "roberta"})", 50265, 768, 12, 510, 2},
      {R"({"model_type": "roformer"})", 50000, 768, 12, 1536, 2},
      {R"({"model_type": "xlm-roberta"})", 30522, 768, 12, 510, 2},
  };
  for (const EncoderSizes& sizes : known) {
    SCOPED_TRACE(sizes.text);
    const auto encoder = describe_encoder(config_of(std::string(sizes.text))).encoder;
    EXPECT_EQ(encoder.vocab_size, sizes.vocab_size);
    EXPECT_EQ(encoder.hidden_size, sizes.width);
    EXPECT_EQ(std::ssize(encoder.layers), sizes.layers);
    EXPECT_EQ(encoder.context, sizes.context);
    EXPECT_EQ(encoder.num_token_types, sizes.token_types);
  }
  const auto absolute = describe_encoder(
      config_of(R"({"model_type": "new", "position_embedding_type": "absolute"})"));
  EXPECT_EQ(absolute.encoder.positions->rows, 2048);
}

TEST(EncoderDefaults, OfNomicBert) {
  const auto of = [](const std::string& members) {
    return describe_encoder(config_of(R"({"model_type": "nomic_bert")" + members + "}")).encoder;
  };
  const nn::EncoderOptions plain = of("");
  EXPECT_EQ(plain.ropes.at(0).theta, 1000.0);
  EXPECT_EQ(plain.ropes.at(0).dims, 64);
  EXPECT_EQ(plain.norm.epsilon, 1e-12);
  const nn::LayerOptions& layer = plain.layers.at(0);
  EXPECT_EQ(layer.mlp().activation, nn::Activation::Silu);
  EXPECT_EQ(layer.mlp().hidden_features, 3072);
  EXPECT_FALSE(layer.mlp().bias);
  EXPECT_FALSE(layer.attention().qkv_bias);
  // A kind of rope without its theta, and configurations of before transformers 5.
  EXPECT_EQ(of(R"(, "rope_parameters": {"rope_type": "default"})").ropes.at(0).theta, 1000.0);
  EXPECT_EQ(of(R"(, "n_embd": 768, "n_head": 12)").ropes.at(0).theta, 10000.0);
}

struct HalfSizes {
  std::string_view type;
  int64_t vocab_size, width, encoder_layers, decoder_layers, context, start;
};

TEST(EncoderDecoderDefaults, AreThoseOfTheClasses) {
  const HalfSizes known[] = {
      {"bart", 50265, 1024, 12, 12, 1024, 2},       {"blenderbot", 8008, 2560, 2, 24, 128, 1},
      {"led", 50265, 1024, 12, 12, 1024, 2},        {"m2m_100", 128112, 1024, 12, 12, 1024, 2},
      {"marian", 58101, 1024, 12, 12, 1024, 58100}, {"mbart", 50265, 1024, 12, 12, 1024, 2},
      {"pegasus", 50265, 1024, 12, 12, 1024, 0},
  };
  for (const HalfSizes& sizes : known) {
    SCOPED_TRACE(sizes.type);
    const std::string text = R"({"model_type": ")" + std::string(sizes.type) + R"("})";
    const auto model = describe_encoder_decoder(config_of(text));
    EXPECT_EQ(model.vocab_size, sizes.vocab_size);
    EXPECT_EQ(model.width, sizes.width);
    EXPECT_EQ(std::ssize(model.encoder.layers), sizes.encoder_layers);
    EXPECT_EQ(std::ssize(model.layers), sizes.decoder_layers);
    EXPECT_EQ(model.context, sizes.context);
    EXPECT_EQ(model.start, sizes.start);
    const bool is_m2m = sizes.type == "m2m_100";
    EXPECT_EQ(model.layers[0].across.mlp().activation,
              is_m2m ? nn::Activation::Relu : nn::Activation::Gelu);
    EXPECT_EQ(model.embedding_scale, is_m2m ? 32.0 : 1.0);
  }
  const auto led = describe_encoder_decoder(config_of(R"({"model_type": "led"})"));
  EXPECT_EQ(led.encoder.context, 16384);
}

TEST(EncoderDecoderDefaults, TheIdOfPaddingIsAToken) {
  for (const char* token : {"-1", "128112", "4611686018427387904"}) {
    const std::string text =
        std::string(R"({"model_type": "m2m_100", "pad_token_id": )") + token + "}";
    EXPECT_ERROR(describe_encoder_decoder(config_of(text)), ErrorCode::InvalidFile,
                 std::string("pad_token_id: ") + token + " is not one of 128112 tokens");
  }
}

}  // namespace
}  // namespace pippin::models
