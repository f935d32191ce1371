// A byte-level BPE tokenizer of which only the ranked tokens are known, as in tiktoken's and
// whisper.cpp's files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

// Returns tokenizer.json with GPT-2's words. A text token's id is its rank; an empty token has no
// text. The special tokens follow. `name` starts error messages. Throws InvalidFile for two equal
// tokens, LimitExceeded for tokens of more than 1,024 bytes.
std::string ranked_tokenizer_json(std::span<const std::string_view> tokens,
                                  std::span<const std::string> specials, const std::string& name);

}  // namespace pippin::tokenizers
