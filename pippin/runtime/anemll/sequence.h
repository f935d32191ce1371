// A sequence of an `anemll` model: its tokens and the states that all parts of the model write.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/runtime/anemll/shared.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

class AnemllSequence final : public Sequence {
 public:
  AnemllSequence(std::shared_ptr<Model> model, AnemllShared& shared);
  ~AnemllSequence() override;

  // Feeds one new token of each sequence, part after part as in feed(), with one lane per sequence.
  static void feed_together(AnemllShared& shared, std::span<Sequence* const> sequences);

 protected:
  void feed(const Feeding& feeding) override;
  std::vector<HiddenStates> parts() const override;
  int64_t give_up(int64_t before) override;
  void forget() override { state_.reset(); }
  Earliest find_earliest() const override;
  int64_t find_droppable() const override;
  void copy(const Sequence& other) override;
  std::vector<CacheArray> arrays(int64_t count) override;
  void read_cache(size_t index, const engine::StateRows& rows, std::byte* to,
                  uint64_t stride) override {
    state_.read_rows(index, rows, to, stride);
  }
  void write_cache(size_t index, const engine::StateRows& rows, const std::byte* from,
                   uint64_t stride) override {
    state_.write_rows(index, rows, from, stride);
  }

 private:
  // One run over some of the tokens being fed.
  struct Segment {
    int64_t first = 0;  // index among them
    int64_t count = 1;
    bool rotated = false;
  };
  // One part that runs over the tokens, and the output of the part before it.
  struct Chunk {
    size_t index;
    const std::vector<Segment>& runs;
    std::span<const int32_t> ids;
    std::span<const float> hidden;
  };

  static AnemllSequence& at(std::span<Sequence* const> sequences, size_t i) {
    return static_cast<AnemllSequence&>(*sequences[i]);
  }
  static void embed_together(AnemllShared& shared, std::span<Sequence* const> sequences);
  static void chunk_together(AnemllShared& shared, size_t index,
                             std::span<Sequence* const> sequences);
  static void head_together(AnemllShared& shared, std::span<Sequence* const> sequences);

  std::vector<Segment> segments(int64_t count) const;
  std::span<const float> embed(std::span<const int32_t> ids);
  // Runs the pieces so that one is in each chunk at a time: chunks of several machines compute
  // together. The hidden states are in shared_.hidden, before and after.
  void run_in_waves(std::span<const Segment> runs, const Feeding& feeding);
  std::span<const float> run_chunk(const Chunk& chunk, const Feeding& feeding);
  void run_head(std::span<const float> hidden, const Feeding& feeding);
  void take_row(const StepRunner& runner, std::span<float> row, size_t lane = 0);

  AnemllShared& shared_;
  engine::State state_;
};

}  // namespace pippin::runtime
