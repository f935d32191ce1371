// Descriptions of models that recognize speech, read from configurations: one function for each
// architecture, in the file of its name; speech_description.cpp selects it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/nn/speech/speech_encoder.h"
#include "pippin/nn/speech/transducer.h"

namespace pippin::models {

// The most taps of a convolution over time, and numbers of a row of features.
inline constexpr int64_t kMostTaps = 1 << 12, kMostBins = 1 << 14;

struct SpeechDescription {
  std::string class_name;
  nn::SpeechEncoderOptions encoder;
  std::string base;        // of the encoder's names
  int64_t max_frames = 0;  // 0: no limit
  int64_t vocab_size = 0;
  int64_t blank = 0;  // the token that stands for none
  // Of CTC: the name of the head, and whether it is stored as a convolution.
  std::string head = "lm_head";
  bool head_is_convolution = false;
  struct Transducer {
    nn::TransducerOptions network;
    std::vector<int64_t> durations;  // in frames; empty: a blank advances by one frame
    int64_t max_symbols = 0;         // the most tokens of one frame
  };
  std::optional<Transducer> transducer;  // else CTC
  std::vector<std::string> unused;       // beginnings of names below the base that nothing needs
};

bool is_speech_type(std::string_view model_type);
// Throws Unsupported for an unknown model_type or class.
SpeechDescription describe_speech(const Config& config);

SpeechDescription hubert(const Config& config);
SpeechDescription lasr_ctc(const Config& config);      // lasr.cpp
SpeechDescription parakeet_ctc(const Config& config);  // parakeet.cpp
SpeechDescription parakeet_rnnt(const Config& config);
SpeechDescription parakeet_tdt(const Config& config);
SpeechDescription wav2vec2(const Config& config);
SpeechDescription wav2vec2_bert(const Config& config);
SpeechDescription wavlm(const Config& config);

// wav2vec 2.0 (wav2vec2.cpp) with this configuration's sizes and forms, under `base`; the caller
// changes the rest.
SpeechDescription wav2vec2_like(const Config& config, const std::string& base);
// vocab_size and pad_token_id, which is CTC's blank.
void read_ctc(const Config& config, int64_t vocab_size, int64_t blank, SpeechDescription& model);
// A token id below `vocab_size`.
int64_t read_token(const Config& config, std::string_view key, int64_t fallback,
                   int64_t vocab_size);
// A list of integers between `least` and `most`.
std::vector<int64_t> read_sizes(const Config& config, std::string_view key,
                                const std::vector<int64_t>& fallback, int64_t least, int64_t most);
// The object of a part of the model; an absent one is empty.
Config part_of(const Config& config, std::string_view key);
// A conformer's layer with the names and norms of NeMo's, without attention.
nn::ConformerLayerOptions nemo_layer(const Config& encoder, int64_t features, int64_t width);

}  // namespace pippin::models
