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

std::vector<std::span<const float>> SpeechModel::feed_one_by_one(
    std::span<WindowDecoder* const> decoders, std::span<const int32_t> ids,
    std::vector<float>& joined) {
  joined.clear();
  for (size_t i = 0; i < decoders.size(); ++i) {
    const std::span<const float> row = decoders[i]->feed({&ids[i], 1});
    joined.insert(joined.end(), row.begin(), row.end());
  }
  std::vector<std::span<const float>> logits;
  logits.reserve(decoders.size());
  const size_t width = decoders.empty() ? 0 : joined.size() / decoders.size();
  for (size_t i = 0; i < decoders.size(); ++i) {
    logits.push_back(std::span<const float>(joined).subspan(i * width, width));
  }
  return logits;
}

std::vector<float> SpeechModel::states(std::span<const float> /*features*/) {
  fail(ErrorCode::Unsupported, "the model does not give the states of its encoder");
}

Alignment SpeechModel::align(WindowDecoder& /*decoder*/, std::span<const int32_t> /*ids*/) {
  fail(ErrorCode::Unsupported, "the model has no attention heads that align words");
}

}  // namespace pippin::speech
