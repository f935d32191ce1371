#include "pippin/speech/sequence_model.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/sequence.h"

namespace pippin::speech {
namespace {

class SequenceDecoder final : public WindowDecoder {
 public:
  explicit SequenceDecoder(std::unique_ptr<runtime::Sequence> sequence)
      : sequence_(std::move(sequence)) {}

  int64_t position() const override { return sequence_->position(); }
  std::span<const float> feed(std::span<const int32_t> ids) override {
    return sequence_->prefill(ids);
  }
  void truncate(int64_t count) override { sequence_->truncate(count); }
  std::unique_ptr<WindowDecoder> fork() const override {
    return std::make_unique<SequenceDecoder>(sequence_->fork());
  }
  runtime::Sequence& sequence() { return *sequence_; }

 private:
  std::unique_ptr<runtime::Sequence> sequence_;
};

runtime::Sequence& sequence_of(WindowDecoder& decoder) {
  return static_cast<SequenceDecoder&>(decoder).sequence();
}

}  // namespace

SequenceModel::SequenceModel(std::shared_ptr<runtime::Model> model) : model_(std::move(model)) {
  const auto& source = model_->source();
  if (!source) {
    fail(ErrorCode::Unsupported, "the model reads text: it does not transcribe recordings");
  }
  if (source->positions <= 0 || source->frames % source->positions != 0) {
    fail(ErrorCode::Unsupported, "{} frames of sound for {} positions: not a Whisper model",
         source->frames, source->positions);
  }
  shape_.frames = source->frames;
  shape_.positions = source->positions;
}

std::unique_ptr<WindowDecoder> SequenceModel::encode(std::span<const float> features) {
  auto sequence = model_->new_sequence();
  sequence->set_source({features, {model_->source()->bins, shape_.frames}});
  return std::make_unique<SequenceDecoder>(std::move(sequence));
}

std::vector<float> SequenceModel::states(std::span<const float> features) {
  const auto sequence = model_->new_sequence();
  sequence->set_source({features, {model_->source()->bins, shape_.frames}});
  constexpr int32_t kAny = 0;  // the encoder has run
  std::vector<runtime::HiddenStates> parts = sequence->trace({&kAny, 1});
  if (parts.empty()) return SpeechModel::states(features);
  return std::move(parts.front().rows);
}

std::vector<std::span<const float>> SequenceModel::feed_each(
    std::span<WindowDecoder* const> decoders, std::span<const int32_t> ids) {
  runtime::Batch batch(model_);
  for (size_t i = 0; i < decoders.size(); ++i) batch.add(sequence_of(*decoders[i]), ids[i]);
  batch.run();
  std::vector<std::span<const float>> logits;
  logits.reserve(decoders.size());
  for (size_t i = 0; i < decoders.size(); ++i) logits.push_back(batch.logits(i));
  return logits;
}

bool SequenceModel::can_align() const {
  return model_->source()->alignment_heads > 0;
}

Alignment SequenceModel::align(WindowDecoder& decoder, std::span<const int32_t> ids) {
  runtime::Sequence& sequence = sequence_of(decoder);
  sequence.truncate(0);
  runtime::CrossAttention attention = sequence.cross_attention(ids);
  Alignment alignment{attention.heads, attention.tokens, attention.positions,
                      std::move(attention.weights), sequence.all_logits(ids)};
  sequence.truncate(0);
  return alignment;
}

}  // namespace pippin::speech
