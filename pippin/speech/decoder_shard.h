// One of whisper.cpp's Core ML packages of a decoder (families/ggml.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/state.h"
#include "pippin/runtime/package/fixed_part.h"

namespace pippin::speech {

// The sizes that all shards of a decoder share.
struct DecoderSizes {
  int64_t layers = 0, width = 0, positions = 0, vocab_size = 0;
};

class DecoderShard {
 public:
  // `first` is its first layer. Throws InvalidFile and Unsupported, in one line with the package
  // and the input, for other shapes.
  DecoderShard(const std::filesystem::path& path, std::string name, int64_t first,
               const DecoderSizes& sizes, ThreadPool& pool, const engine::ComputeOptions& compute);

  int64_t end() const { return static_cast<int64_t>(first_) + layers_; }
  int64_t slots() const { return slots_; }
  engine::State new_caches(const engine::ComputeOptions& compute) const {
    return engine::State(part_.description().states, compute);
  }

  // Runs a token at a position, and writes its keys and values into the caches. `row` is the result
  // of the shard before; the first one takes the token. `cross`: keys and values, [width,
  // positions], of each layer of the decoder.
  void run(int32_t id, int64_t position, std::span<const float> row, engine::State& caches,
           std::span<const std::vector<float>> cross);
  // The logits, or the row for the next shard, of the last run.
  std::span<const float> result() const { return part_.output(result_); }

 private:
  // Counts the layers: each has two states of the same shape.
  void check_states(int64_t width);

  runtime::FixedPart part_;
  size_t first_;  // the first layer
  int64_t layers_ = 0, slots_ = 0;
  size_t input_ = 0, position_ = 0, slot_mask_ = 0, self_mask_ = 0, result_ = 0;
  // Of keys and values, layer after layer: ports, and indices of states.
  std::vector<size_t> cross_, columns_, caches_;
  std::vector<float16> halves_;
};

}  // namespace pippin::speech
