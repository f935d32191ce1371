// The encoders: one function each, in the file of its name; encoders.cpp lists them. It reads a
// configuration, checks it, and describes the model and the head that scores with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/models/config/config.h"
#include "pippin/nn/attention/disentangled_attention.h"
#include "pippin/nn/classifier.h"
#include "pippin/nn/encoder.h"

namespace pippin::models {

struct EncoderDescription {
  nn::EncoderOptions encoder;
  nn::ClassifierOptions classifier;  // of the class ...ForSequenceClassification
  // The head of ...ForTokenClassification.
  nn::ClassifierOptions token_classifier = {.from = nn::ClassifierOptions::From::Each,
                                            .output = "classifier"};
  // The heads of other classes, if the architecture has them.
  std::optional<nn::ClassifierOptions> pooler;         // of the bare model: no output
  std::optional<nn::ClassifierOptions> language_head;  // of ...ForMaskedLM
  std::optional<nn::ClassifierOptions> discriminator;  // of ...ForPreTraining: one number a token
  // Embeddings are the states of the first token of this id, in place of a pooling (CLIP); of the
  // largest id if it is below 0; with `last`, of the last token. `projection` is a matrix after
  // that, which may be absent from the checkpoint unless vectors have length 1: they are then in
  // one space with those of images.
  struct EndPooling {
    int32_t token = -1;
    bool last = false;
    std::string projection;
    bool bias = false;
    int64_t size = 0;
    bool unit_length = false;
  };
  std::optional<EndPooling> end_pooling;
  // Tokens attend to padding: only texts of equal length can be computed together.
  bool sees_padding = false;
  // Texts are filled with the tokenizer's padding token up to the context, and attend to it.
  bool fills_texts = false;
  // Texts are in lower case, whatever the tokenizer does.
  bool lowers_case = false;
};

// In files of their names, except for bart_encoder (bart.cpp), gemma3_encoder (gemma3.cpp),
// modernvbert (modernbert.cpp), t5gemma2_encoder (t5gemma2.cpp), umt5_encoder (t5_encoder.cpp) and
// the text sides of pairs (clip_text.cpp).
using DescribeEncoder = EncoderDescription(const Config& config);
DescribeEncoder aimv2_pair, albert, bart_encoder, bert, clip_pair, clip_text, convbert,
    data2vec_text, deberta, deberta_v2, distilbert, electra, ernie, esm, eurobert, gemma3_encoder,
    gte_new, jina_bert, jina_embeddings_v3, megatron_bert, metaclip_2_pair, modernbert, modernvbert,
    mpnet, nomic_bert, roberta, roberta_prelayernorm, roformer, siglip_pair, siglip2_pair,
    squeezebert, t5_encoder, t5gemma_encoder, t5gemma2_encoder, umt5_encoder;

bool is_encoder_type(std::string_view model_type);

// The encoder of a configuration, or its causal model, which then embeds texts with causal
// attention. Throws Unsupported, naming a model_type that is neither.
EncoderDescription describe_encoder(const Config& config);

// The defaults of a class of BERT's lineage for absent keys.
struct BertDefaults {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t intermediate_size = 3072;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t context = 512;
  int64_t token_types = 2;
  double epsilon = 1e-12;
};

// BERT's names and form (bert.cpp), which most encoders share, with this configuration's sizes; the
// caller changes the rest.
EncoderDescription bert_like(const Config& config, const BertDefaults& defaults = {});
// DeBERTa's sizes, positions and form (deberta_v2.cpp), whose attention has the names given.
EncoderDescription deberta_like(const Config& config, const BertDefaults& defaults,
                                const nn::DisentangledAttentionOptions& names);
// The head of RoBERTa and those after it (roberta.cpp): two layers on the first token.
nn::ClassifierOptions two_layer_classifier(nn::Activation activation);
// BERT's head for masked tokens (bert.cpp): a layer, an activation and a norm at `transform`, then
// the embedding, or the matrix "decoder" of `owner`, whose bias is added.
nn::ClassifierOptions bert_language_head(const Config& config, const nn::EncoderOptions& encoder,
                                         const std::string& transform = "cls.predictions.transform",
                                         const std::string& owner = "cls.predictions");
// RoBERTa's (roberta.cpp), with the names "lm_head.dense", "lm_head.layer_norm".
nn::ClassifierOptions roberta_language_head(const Config& config,
                                            const nn::EncoderOptions& encoder);
// ELECTRA's generator's (electra.cpp), as wide as the embedding.
nn::ClassifierOptions electra_language_head(const Config& config,
                                            const nn::EncoderOptions& encoder);
// Rotates heads of d dimensions by the frequencies of `rope_parameters` or the class's theta.
void add_encoder_rope(const Config& config, nn::EncoderOptions& encoder, double theta,
                      bool interleaved = false);
// Its positions: those of tokens other than pad_token_id count from one more than that.
void count_positions(const Config& config, nn::EncoderOptions& encoder, int64_t default_pad);

}  // namespace pippin::models
