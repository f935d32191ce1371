// The special tokens of a Whisper model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

struct LanguageToken {
  std::string code;  // "en"
  int32_t id = 0;
};

// Text tokens are those below end_of_text. All timestamps follow the other special tokens.
struct SpecialTokens {
  int32_t end_of_text = 0;
  int32_t start_of_transcript = 0;
  int32_t no_timestamps = 0;
  int32_t timestamp_begin = 0;  // <|0.00|>
  int32_t timestamp_end = 0;    // the last timestamp + 1
  std::optional<int32_t> transcribe, translate, start_of_previous, start_of_lm, no_speech;
  std::vector<LanguageToken> languages;  // empty: the model is for English only

  bool is_multilingual() const { return !languages.empty(); }
  bool is_text(int32_t id) const { return id < end_of_text; }
  bool is_timestamp(int32_t id) const { return id >= timestamp_begin; }
  // Returns the token of a language code; nullopt if the model does not have it.
  std::optional<int32_t> language(std::string_view code) const;
};

// Reads the tokens from a tokenizer and generation_config.json (an empty object if there is none).
// `positions`: the encoder's positions in a window, each of which has a timestamp. Throws
// InvalidFile if a token that every Whisper model has is missing or out of order.
SpecialTokens read_special_tokens(const Tokenizer& tokenizer, const Json& generation_config,
                                  int64_t vocab_size, int64_t positions);

}  // namespace pippin::speech
