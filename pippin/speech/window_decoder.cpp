#include "pippin/speech/window_decoder.h"

#include "pippin/base/error.h"

namespace pippin::speech {

std::vector<std::span<const float>> SpeechModel::feed_each(std::span<WindowDecoder* const> decoders,
                                                           std::span<const int32_t> ids) {
  std::vector<std::span<const float>> logits;
  logits.reserve(decoders.size());
  for (size_t i = 0; i < decoders.size(); ++i) logits.push_back(decoders[i]->feed({&ids[i], 1}));
  return logits;
}

std::vector<float> SpeechModel::states(std::span<const float> /*features*/) {
  fail(ErrorCode::Unsupported, "the model does not give the states of its encoder");
}

Alignment SpeechModel::align(WindowDecoder& /*decoder*/, std::span<const int32_t> /*ids*/) {
  fail(ErrorCode::Unsupported, "the model has no attention heads that align words");
}

}  // namespace pippin::speech
