#include "pippin/runtime/text.h"

#include "pippin/runtime/text_stream.h"

namespace pippin::runtime {

TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const std::function<bool(std::string_view piece)>& on_text) {
  TextStream text(tokenizer, options.stop, options.shown_tokens);
  TextResult result;
  const auto emit = [&](const std::string& piece) {
    result.text += piece;
    return piece.empty() || on_text(piece);
  };
  static_cast<GenerateResult&>(result) = generate(sequence, prompt, options, [&](int32_t id) {
    return emit(text.push(id)) && !text.is_stopped();
  });
  // What was held back. A caller who stopped has heard all that he wants.
  if (result.reason != StopReason::Callback || text.is_stopped()) emit(text.finish());
  if (text.is_stopped()) result.reason = StopReason::StopString;
  return result;
}

}  // namespace pippin::runtime
