// A Whisper model whose decoder is a chain of whisper.cpp's Core ML packages (families/ggml.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/speech/decoder_shard.h"
#include "pippin/speech/sequence_model.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class ShardedModel final : public SpeechModel {
 public:
  // `whole` encodes windows, projects the encoder's states for cross-attention and aligns words.
  // `shard` is one of the packages; the others lie next to it. `pool` must outlive it. Throws
  // NotFound for a missing package, InvalidFile and Unsupported, in one line with the package and
  // the input, for those of other shapes.
  ShardedModel(std::shared_ptr<runtime::EncoderDecoderModel> whole,
               const std::filesystem::path& shard, ThreadPool& pool,
               const engine::ComputeOptions& compute);

  int64_t context() const override { return slots_; }
  int64_t vocab_size() const override { return whole_->vocab_size(); }
  WindowShape shape() const override { return base_.shape(); }
  std::unique_ptr<WindowDecoder> encode(std::span<const float> features) override;
  std::vector<float> states(std::span<const float> features) override {
    return base_.states(features);
  }
  std::vector<std::span<const float>> feed_each(std::span<WindowDecoder* const> decoders,
                                                std::span<const int32_t> ids) override;
  bool can_align() const override { return base_.can_align(); }
  Alignment align(WindowDecoder& decoder, std::span<const int32_t> ids) override;

 private:
  class Decoder;
  struct Window;

  // Runs the shards on a token at a position, and writes its keys and values into the caches.
  void step(int32_t id, int64_t position, std::span<engine::State> caches, const Window& window);
  std::span<const float> logits() const;

  std::shared_ptr<runtime::EncoderDecoderModel> whole_;
  SequenceModel base_;
  engine::ComputeOptions compute_;
  std::vector<DecoderShard> shards_;
  int64_t slots_ = 0;
  std::vector<float> joined_;  // the logits of feed_each()
};

}  // namespace pippin::speech
