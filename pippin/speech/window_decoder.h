// A model of windows of sound, as decoding uses it: features in, logits of text tokens out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pippin::speech {

// The sizes of a window of sound.
struct WindowShape {
  int64_t frames = 3000;            // of features
  int64_t positions = 1500;         // of the encoder's output, and timestamps after the first one
  double seconds_per_frame = 0.01;  // from one frame to the next

  int64_t frames_per_position() const { return frames / positions; }
  double seconds_per_position() const {
    return static_cast<double>(frames_per_position()) * seconds_per_frame;
  }
  double seconds() const { return static_cast<double>(frames) * seconds_per_frame; }
};

// Tokens fed to the decoder after a window was encoded. All decoders of a model are used by one
// thread.
class WindowDecoder {
 public:
  virtual ~WindowDecoder() = default;

  // The number of tokens fed.
  virtual int64_t position() const = 0;
  // Feeds tokens and returns the logits after the last one, valid until the next call. Throws
  // LimitExceeded beyond the context.
  virtual std::span<const float> feed(std::span<const int32_t> ids) = 0;
  // Drops all but the first `count` tokens.
  virtual void truncate(int64_t count) = 0;
  // Returns an independent decoder of the same window with the same tokens.
  virtual std::unique_ptr<WindowDecoder> fork() const = 0;
};

// Attention of text tokens to the positions of a window.
struct Alignment {
  int64_t heads = 0, tokens = 0, positions = 0;
  std::vector<float> weights;  // [heads, tokens, positions], each row sums to 1
  std::vector<float> logits;   // [tokens, vocab_size]: after each token
};

class SpeechModel {
 public:
  virtual ~SpeechModel() = default;

  virtual int64_t context() const = 0;  // the most tokens of a decoder
  virtual int64_t vocab_size() const = 0;
  virtual WindowShape shape() const = 0;
  // Encodes features, [mels, frames], and returns a decoder without tokens.
  virtual std::unique_ptr<WindowDecoder> encode(std::span<const float> features) = 0;
  // Encodes features, [mels, frames], and returns the encoder's states, [positions, width]. Throws
  // Unsupported for models that do not give them.
  virtual std::vector<float> states(std::span<const float> features);
  // Feeds one token to each of several decoders, of any windows, and returns their logits, valid
  // until the next call.
  virtual std::vector<std::span<const float>> feed_each(std::span<WindowDecoder* const> decoders,
                                                        std::span<const int32_t> ids);
  // Whether align() works: some heads of the model follow the sound.
  virtual bool can_align() const { return false; }
  // Returns the attention of each token to the window of `decoder`, whose own tokens are dropped.
  virtual Alignment align(WindowDecoder& decoder, std::span<const int32_t> ids);

 protected:
  // feed_each() of models whose decoders share the memory of logits: copies them into `joined`.
  static std::vector<std::span<const float>> feed_one_by_one(
      std::span<WindowDecoder* const> decoders, std::span<const int32_t> ids,
      std::vector<float>& joined);
};

}  // namespace pippin::speech
