#include "pippin/runtime/text.h"

#include <utility>

#include "pippin/runtime/text_stream.h"

namespace pippin::runtime {

TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const OnTextToken& on_token) {
  TextStream text(tokenizer, options.stop, options.shown_tokens);
  TextResult result;
  const auto emit = [&](int32_t id, const std::string& piece) {
    result.text += piece;
    return on_token(id, piece);
  };
  static_cast<GenerateResult&>(result) = generate(sequence, prompt, options, [&](int32_t id) {
    return emit(id, text.push(id)) && !text.is_stopped();
  });
  // Passes on the text held back, unless the callback has stopped.
  if (result.reason != StopReason::Callback || text.is_stopped()) {
    if (const std::string rest = text.finish(); !rest.empty()) emit(kNoToken, rest);
  }
  if (text.is_stopped()) result.reason = StopReason::StopString;
  return result;
}

OnTextToken text_only(std::function<bool(std::string_view piece)> on_text) {
  return [on_text = std::move(on_text)](int32_t /*id*/, std::string_view piece) {
    return piece.empty() || on_text(piece);
  };
}

}  // namespace pippin::runtime
