// Encoder-decoder models of sound (runtime/encoder_decoder_model.h) as models of windows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class SequenceModel final : public SpeechModel {
 public:
  // Throws Unsupported for a model that does not take features of sound.
  explicit SequenceModel(std::shared_ptr<runtime::Model> model);

  int64_t context() const override { return model_->context(); }
  int64_t vocab_size() const override { return model_->vocab_size(); }
  WindowShape shape() const override { return shape_; }
  std::unique_ptr<WindowDecoder> encode(std::span<const float> features) override;
  std::vector<float> states(std::span<const float> features) override;
  std::vector<std::span<const float>> feed_each(std::span<WindowDecoder* const> decoders,
                                                std::span<const int32_t> ids) override;
  bool can_align() const override;
  Alignment align(WindowDecoder& decoder, std::span<const int32_t> ids) override;

 private:
  std::shared_ptr<runtime::Model> model_;
  WindowShape shape_;
};

}  // namespace pippin::speech
