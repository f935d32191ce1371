// generate() for callers that want text: pieces as they come, and an end at strings.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/runtime/generator.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

struct TextOptions : GenerateOptions {
  // The text ends before the first of these: StopReason::StopString.
  std::vector<std::string> stop;
  std::vector<int32_t> shown_tokens;  // special ones that are a part of the text
};

struct TextResult : GenerateResult {
  std::string text;
};

// Called with each token, and what it adds to the text that is certain: valid UTF-8, often empty.
// At the end, the rest of the text comes with kNoToken, if there is some. Returning false stops:
// StopReason::Callback.
inline constexpr int32_t kNoToken = -1;
using OnTextToken = std::function<bool(int32_t id, std::string_view piece)>;
// Throws what generate() throws.
TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const OnTextToken& on_token);

// For those who want the text alone: calls `on_text` with the pieces that are not empty.
OnTextToken text_only(std::function<bool(std::string_view piece)> on_text);

}  // namespace pippin::runtime
