// WhisperKit's packages AudioEncoder and TextDecoder (families/whisperkit.h) as a model of windows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class WhisperKitModel final : public SpeechModel {
 public:
  // `pool` must outlive it. Throws NotFound for a missing package, InvalidFile and Unsupported, in
  // one line with the package and the input, for those of other shapes.
  WhisperKitModel(runtime::PackageFolder folder, ThreadPool& pool,
                  const engine::ComputeOptions& compute);

  int64_t context() const override { return slots_; }
  int64_t vocab_size() const override { return vocab_size_; }
  WindowShape shape() const override { return shape_; }
  int64_t bins() const { return bins_; }
  std::unique_ptr<WindowDecoder> encode(std::span<const float> features) override;
  std::vector<float> states(std::span<const float> features) override;
  std::vector<std::span<const float>> feed_each(std::span<WindowDecoder* const> decoders,
                                                std::span<const int32_t> ids) override;
  bool can_align() const override { return alignment_.has_value(); }
  Alignment align(WindowDecoder& decoder, std::span<const int32_t> ids) override;

 private:
  friend class WhisperKitDecoder;

  // Inputs of the decoder for a window: the encoder's states, or values that are computed from them
  // alone.
  using Window = std::vector<std::vector<float>>;

  void check_inputs(const runtime::FixedPart& decoder);
  void open_decoder(const engine::ComputeOptions& compute);
  void find_ports();
  // Runs the encoder and returns its states, [width, positions], valid until the next call.
  std::span<const float> run_encoder(std::span<const float> features);
  // Runs the decoder on a token at a position, with the caches' slots before it, and writes the
  // token's keys and values into its slot.
  void step(int32_t id, int64_t position, std::span<float> keys, std::span<float> values,
            const Window& window);
  std::span<const float> logits() const { return decoder_->output(logits_); }

  runtime::PackageFolder folder_;
  runtime::FixedPart encoder_;
  // The decoder, and the part of it that runs once for each window (null: none; split.h).
  std::unique_ptr<runtime::FixedPart> decoder_, once_;
  std::vector<std::string> between_;
  WindowShape shape_;
  int64_t bins_ = 0, width_ = 0, rows_ = 0, slots_ = 0, vocab_size_ = 0;
  size_t features_ = 0, encoded_ = 0;
  size_t ids_ = 0, length_ = 0, keys_ = 0, values_ = 0, update_mask_ = 0, padding_mask_ = 0;
  std::vector<size_t> given_;  // inputs of a window's values, in their order
  size_t logits_ = 0, new_keys_ = 0, new_values_ = 0;
  std::optional<size_t> alignment_;
  std::vector<float> joined_;  // the logits of feed_each()
};

}  // namespace pippin::speech
