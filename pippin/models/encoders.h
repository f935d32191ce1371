// The encoders: one function each, in the file of its name; encoders.cpp lists them. It reads a
// configuration, checks it, and describes the model and the head that scores with it.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/models/config/config.h"
#include "pippin/nn/classifier.h"
#include "pippin/nn/encoder.h"

namespace pippin::models {

struct EncoderDescription {
  nn::EncoderOptions encoder;
  nn::ClassifierOptions classifier;  // of the class ...ForSequenceClassification
};

EncoderDescription albert(const Config& config);
EncoderDescription bert(const Config& config);
EncoderDescription deberta_v2(const Config& config);
EncoderDescription distilbert(const Config& config);
EncoderDescription electra(const Config& config);
EncoderDescription gemma3_encoder(const Config& config);  // gemma3.cpp
EncoderDescription modernbert(const Config& config);
EncoderDescription mpnet(const Config& config);
EncoderDescription nomic_bert(const Config& config);
EncoderDescription roberta(const Config& config);
EncoderDescription t5_encoder(const Config& config);
EncoderDescription umt5_encoder(const Config& config);

bool is_encoder_type(std::string_view model_type);

// The encoder of a configuration, or its causal model, which then embeds texts with causal
// attention. Throws Unsupported, naming a model_type that is neither.
EncoderDescription describe_encoder(const Config& config);

// BERT's sizes, names and form (bert.cpp), which most encoders share; the caller changes the rest.
EncoderDescription bert_like(const Config& config, double epsilon = 1e-12);
// The head of RoBERTa and its successors (roberta.cpp): two layers on the first token.
nn::ClassifierOptions two_layer_classifier(nn::Activation activation);
// Their positions: tokens other than pad_token_id are counted from pad_token_id + 1.
void count_positions(const Config& config, nn::EncoderOptions& encoder, int64_t default_pad);

}  // namespace pippin::models
