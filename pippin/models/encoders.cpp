// The list of encoders, and the choice of one for a configuration.
#include "pippin/models/encoders.h"

#include <array>
#include <string>
#include <variant>

#include "pippin/models/architectures.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/quantization.h"

namespace pippin::models {
namespace {

struct EncoderArchitecture {
  std::string_view model_type;
  DescribeEncoder* describe;
};

// An explicit list: a static library drops objects that only register themselves.
constexpr std::array kEncoders = {
    EncoderArchitecture{"aimv2", aimv2_pair},
    EncoderArchitecture{"albert", albert},
    EncoderArchitecture{"bart", bart_encoder},
    EncoderArchitecture{"bert", bert},
    EncoderArchitecture{"blenderbot", bart_encoder},
    EncoderArchitecture{"camembert", roberta},
    EncoderArchitecture{"clip", clip_pair},
    EncoderArchitecture{"clip_text_model", clip_text},
    EncoderArchitecture{"convbert", convbert},
    EncoderArchitecture{"data2vec-text", data2vec_text},
    EncoderArchitecture{"deberta", deberta},
    EncoderArchitecture{"deberta-v2", deberta_v2},
    EncoderArchitecture{"distilbert", distilbert},
    EncoderArchitecture{"electra", electra},
    EncoderArchitecture{"ernie", ernie},
    EncoderArchitecture{"esm", esm},
    EncoderArchitecture{"eurobert", eurobert},
    EncoderArchitecture{"jina_embeddings_v3", jina_embeddings_v3},
    EncoderArchitecture{"led", bart_encoder},
    EncoderArchitecture{"longt5", t5_encoder},
    EncoderArchitecture{"m2m_100", bart_encoder},
    EncoderArchitecture{"marian", bart_encoder},
    EncoderArchitecture{"mbart", bart_encoder},
    EncoderArchitecture{"megatron-bert", megatron_bert},
    EncoderArchitecture{"metaclip_2", metaclip_2_pair},
    EncoderArchitecture{"modernbert", modernbert},
    EncoderArchitecture{"modernvbert", modernvbert},
    EncoderArchitecture{"mpnet", mpnet},
    EncoderArchitecture{"mt5", t5_encoder},
    EncoderArchitecture{"new", gte_new},
    EncoderArchitecture{"nomic_bert", nomic_bert},
    EncoderArchitecture{"pegasus", bart_encoder},
    EncoderArchitecture{"roberta", roberta},
    EncoderArchitecture{"roberta-prelayernorm", roberta_prelayernorm},
    EncoderArchitecture{"roformer", roformer},
    EncoderArchitecture{"siglip", siglip_pair},
    EncoderArchitecture{"siglip2", siglip2_pair},
    EncoderArchitecture{"squeezebert", squeezebert},
    EncoderArchitecture{"t5", t5_encoder},
    EncoderArchitecture{"t5gemma", t5gemma_encoder},
    EncoderArchitecture{"t5gemma2", t5gemma2_encoder},
    EncoderArchitecture{"umt5", umt5_encoder},
    EncoderArchitecture{"xlm-roberta", roberta},
};

const EncoderArchitecture* find(std::string_view model_type) {
  for (const EncoderArchitecture& known : kEncoders) {
    if (known.model_type == model_type) return &known;
  }
  return nullptr;
}

// Windows of layers that see both ways reach equally far on either side; chunks of positions have
// no such meaning.
void check_sees_both_ways(const Config& config, const nn::EncoderOptions& encoder) {
  for (const nn::LayerOptions& layer : encoder.layers) {
    const auto* const attention = std::get_if<nn::AttentionOptions>(&layer.mixer);
    if (attention != nullptr && attention->chunk) {
      config.unsupported("is_causal", "false is not supported with attention in chunks");
    }
  }
}

}  // namespace

bool is_encoder_type(std::string_view model_type) {
  return find(model_type) != nullptr;
}

EncoderDescription describe_encoder(const Config& config) {
  const std::string type = config.text("model_type", "");
  const bool both_ways = type == "gemma3_text" && config.flag("use_bidirectional_attention", false);
  EncoderDescription model;
  if (const EncoderArchitecture* known = find(type)) {
    model = known->describe(config);
    config.ignore({"is_causal"});  // an encoder never is
  } else if (both_ways) {
    model = gemma3_encoder(config);
  } else {
    model.encoder = nn::as_encoder(describe_architecture(config, ""));
    model.encoder.causal = config.flag("is_causal", true);
    if (!model.encoder.causal) check_sees_both_ways(config, model.encoder);
    // Like Hugging Face's classes for decoders.
    model.classifier = {
        .from = nn::ClassifierOptions::From::Last, .output = "score", .output_bias = false};
    model.token_classifier.output = "score";
  }
  if (!config.was_read("quantization_config")) model.encoder.packed = packed_weights(config);
  apply_gguf(config, model);
  return model;
}

}  // namespace pippin::models
