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

// Calls `on_text` with pieces of valid UTF-8; joined they are the text. It returns false to stop:
// StopReason::Callback. Throws what generate() throws.
TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const std::function<bool(std::string_view piece)>& on_text);

}  // namespace pippin::runtime
