// The text of one window: the prompt, the rules, decoding at rising temperatures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pippin/runtime/sampling/random.h"
#include "pippin/speech/candidates.h"
#include "pippin/speech/logit_rules.h"
#include "pippin/speech/options.h"
#include "pippin/speech/special_tokens.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

struct WindowText {
  std::vector<int32_t> tokens;  // text and timestamps
  double avg_logprob = 0;
  double no_speech_prob = 0;  // NaN if the model has no token for it
  double compression_ratio = 0;
  double temperature = 0;
};

// A language and its probability among all languages.
using LanguageProbability = std::pair<std::string, double>;

// Returns the languages of a window, most probable first. `decoder` has no tokens, before and after
// the call. Throws InvalidArgument if the model is for English only.
std::vector<LanguageProbability> detect_languages(WindowDecoder& decoder,
                                                  const SpecialTokens& tokens);

// Decodes windows with the same options. Everything that it refers to must outlive it.
class WindowTask {
 public:
  // The token lists of generation_config.json; null or missing: OpenAI's lists, computed from the
  // tokenizer.
  WindowTask(SpeechModel& model, const Tokenizer& tokenizer, const SpecialTokens& tokens,
             const TranscribeOptions& options, const Json& generation_config);

  // Decodes a window after `previous` tokens, of which the last are used that have room. `decoder`
  // has no tokens. `language`: its code.
  WindowText decode(WindowDecoder& decoder, std::span<const int32_t> previous,
                    const std::string& language);

  // Decodes windows together, greedily, each after the same `previous` tokens; one that fails is
  // decoded again by itself. The texts are those of decode().
  std::vector<WindowText> decode_together(std::span<WindowDecoder* const> decoders,
                                          std::span<const int32_t> previous,
                                          const std::string& language);

  // The tokens that begin a text: <|startoftranscript|>, and for multilingual models the language
  // and the task.
  std::vector<int32_t> start_tokens(const std::string& language) const;

  // The most tokens of previous text that a prompt has.
  int64_t most_previous() const { return model_.context() / 2 - 1; }

 private:
  struct Prompt {
    std::vector<int32_t> before_start, after_start;  // the second begins with start_of_transcript
  };
  Prompt make_prompt(std::span<const int32_t> previous, const std::string& language) const;
  // The outputs of a decoder after the prompt.
  struct Start {
    std::vector<float> logits;
    double no_speech_prob = 0;
  };
  Start feed_prompt(WindowDecoder& decoder, const Prompt& prompt) const;
  PromptedDecoder prompted(WindowDecoder& decoder, const Start& start) const;
  WindowText decode_at(double temperature, WindowDecoder& decoder, const Start& start);
  WindowText text_of(Candidate candidate, double temperature, const Start& start) const;
  // Decodes at the temperatures from that of an index on, until a text has not failed; `text` is
  // that of the temperature before.
  WindowText decode_from(size_t index, WindowText text, WindowDecoder& decoder, const Start& start);
  bool needs_fallback(const WindowText& text) const;

  SpeechModel& model_;
  const Tokenizer& tokenizer_;
  const SpecialTokens& tokens_;
  const TranscribeOptions& options_;
  LogitRules rules_;
  std::vector<int32_t> hotwords_;
  runtime::RandomGenerator random_;
};

}  // namespace pippin::speech
