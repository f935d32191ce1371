#include "pippin/runtime/text.h"

#include "pippin/runtime/stop_strings.h"

namespace pippin::runtime {

TextResult generate_text(Sequence& sequence, const Tokenizer& tokenizer,
                         std::span<const int32_t> prompt, const TextOptions& options,
                         const std::function<bool(std::string_view piece)>& on_text) {
  StreamDecoder decoder(tokenizer);
  StopStrings stop(options.stop);
  TextResult result;
  const auto emit = [&](const std::string& piece) {
    result.text += piece;
    return piece.empty() || on_text(piece);
  };
  static_cast<GenerateResult&>(result) = generate(sequence, prompt, options, [&](int32_t id) {
    return emit(stop.push(decoder.push(id))) && !stop.found();
  });
  // What was held back. A caller who stopped has heard all that he wants.
  if (result.reason != StopReason::Callback || stop.found()) {
    emit(stop.push(decoder.finish()));
    emit(stop.finish());
  }
  if (stop.found()) result.reason = StopReason::StopString;
  return result;
}

}  // namespace pippin::runtime
