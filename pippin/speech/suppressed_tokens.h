// Tokens that a transcription does not contain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/speech/special_tokens.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

// Returns tokens of symbols that are not spoken, such as brackets and notes; hyphens and quotes
// only at the beginning of a word.
std::vector<int32_t> non_speech_tokens(const Tokenizer& tokenizer);

// Returns the tokens to suppress everywhere: `asked`, in which -1 stands for suppress_tokens of
// generation_config.json or, without it, for non_speech_tokens(), and the special tokens that are
// only for prompts. Throws InvalidArgument for an id outside the vocabulary.
std::vector<int32_t> suppressed_tokens(std::span<const int32_t> asked, const Tokenizer& tokenizer,
                                       const SpecialTokens& tokens, const Json& generation_config,
                                       int64_t vocab_size);

// Returns the tokens that do not begin a text: begin_suppress_tokens of generation_config.json or,
// without it, a space and the end of the text.
std::vector<int32_t> suppressed_first_tokens(const Tokenizer& tokenizer,
                                             const SpecialTokens& tokens,
                                             const Json& generation_config, int64_t vocab_size);

}  // namespace pippin::speech
