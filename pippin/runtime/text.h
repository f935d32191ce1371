// generate() for callers that want text: reports it in pieces and ends it at stop strings.
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
  std::vector<int32_t> shown_tokens;  // special tokens that are part of the text
};

struct TextResult : GenerateResult {
  std::string text;
};

// Called with each token and the text that is certain after it: valid UTF-8, often empty. At the
// end, the remaining text, if any, comes with kNoToken. Returning false stops:
// StopReason::Callback.
inline constexpr int32_t kNoToken = -1;
using OnTextToken = std::function<bool(int32_t id, std::string_view piece)>;
// Throws the errors of generate().
TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const OnTextToken& on_token);

// Adapts a callback that wants text only: calls `on_text` with each piece that is not empty.
OnTextToken text_only(std::function<bool(std::string_view piece)> on_text);

}  // namespace pippin::runtime
