#include "pippin/runtime/coreml_llm/sequence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/coreml_llm.h"

namespace pippin::runtime {

namespace coreml_llm = families::coreml_llm;

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

}  // namespace

CoreMlLlmSequence::CoreMlLlmSequence(std::shared_ptr<Model> model, CoreMlLlmShared& shared)
    : Sequence(std::move(model)), shared_(shared), lane_(shared.take_lane()) {
  forget();
}

CoreMlLlmSequence::~CoreMlLlmSequence() {
  const auto lock = lock_model();
  shared_.give_back_lane(lane_);
}

void CoreMlLlmSequence::feed(const Feeding& feeding) {
  const auto total = std::ssize(fed());
  int64_t done = feeding.begin;
  if (done == 0 && !feeding.wants_every()) {
    done = shared_.batch(total);
    const bool is_wanted = done == total && feeding.rows != Rows::None;
    if (done > 0) run_batch(done, is_wanted);
    if (is_wanted && done > 0) take_row(shared_.prefill->chunks(), 0, next_row(feeding));
  }
  for (; done < total; ++done) {
    check_cancel();
    run_token(fed()[static_cast<size_t>(done)], done);
    const bool is_wanted =
        feeding.rows == Rows::Every || (feeding.rows != Rows::None && done + 1 == total);
    if (is_wanted) take_row(shared_.chunks, lane_, next_row(feeding));
  }
}

void CoreMlLlmSequence::run_token(int32_t id, int64_t position) {
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    shared_.chunks.run(i, lane_, [&](CoreMlLlmInput kind, std::span<float> target) {
      fill(kind, id, position, target);
    });
    FixedPart& part = shared_.chunks.part(i);
    for (const auto& cache : shared_.chunks[i].caches) {
      const auto next = part.output(cache.output, lane_);
      std::copy(next.begin(), next.end(), part.input(cache.input, lane_).begin());
    }
  }
}

void CoreMlLlmSequence::run_batch(int64_t count, bool chooses) {
  shared_.prefill->run(count, lane_, chooses, [&](CoreMlLlmInput kind, std::span<float> target) {
    check_cancel();
    fill_batch(kind, count, target);
  });
}

// Of the first tokens, `count` of the T that `target` has room for.
void CoreMlLlmSequence::fill_batch(CoreMlLlmInput kind, int64_t count,
                                   std::span<float> target) const {
  const auto tokens = static_cast<size_t>(shared_.prefill->tokens());
  const size_t width = target.size() / tokens;
  std::fill(target.begin(), target.end(), 0.0F);
  switch (kind) {
    case CoreMlLlmInput::BatchMask:
      for (size_t row = 0; row < tokens; ++row) {
        const auto values = target.subspan(row * tokens, tokens);
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(row) + 1, values.end(), kMasked);
      }
      return;
    case CoreMlLlmInput::LastMask:
      target[static_cast<size_t>(count - 1)] = 1;
      return;
    default:
      for (size_t row = 0; row < static_cast<size_t>(count); ++row) {
        fill(kind, fed()[row], static_cast<int64_t>(row), target.subspan(row * width, width));
      }
  }
}

void CoreMlLlmSequence::fill(CoreMlLlmInput kind, int32_t id, int64_t position,
                             std::span<float> target) const {
  switch (kind) {
    case CoreMlLlmInput::Hidden:
      copy_embedding(id, position, target);
      return;
    case CoreMlLlmInput::LayerRow:
      shared_.layers.copy_row(id < 0 ? coreml_llm::kImageLayerToken : id, target);
      return;
    case CoreMlLlmInput::FullMask:
      std::fill(target.begin(), target.end(), kMasked);
      std::fill_n(target.begin(), position + 1, 0.0F);
      return;
    case CoreMlLlmInput::SlidingMask: {
      // The newest key is the last one.
      const int64_t visible = std::min(position + 1, std::ssize(target));
      std::fill(target.begin(), target.end(), kMasked);
      std::fill(target.end() - visible, target.end(), 0.0F);
      return;
    }
    case CoreMlLlmInput::UpdateMask:
      std::fill(target.begin(), target.end(), 0.0F);
      target[static_cast<size_t>(position)] = 1;
      return;
    default: {
      const auto row = shared_.angles_of(kind).row(position);
      std::copy(row.begin(), row.end(), target.begin());
    }
  }
}

void CoreMlLlmSequence::copy_embedding(int32_t id, int64_t position,
                                       std::span<float> target) const {
  if (id >= 0) return shared_.tokens.copy_row(id, target);
  const RowRun& run = *runs().at(position);
  const auto first = run.rows->values.begin() + (position - run.begin) * std::ssize(target);
  std::copy(first, first + std::ssize(target), target.begin());
}

void CoreMlLlmSequence::take_row(const CoreMlLlmChunks& chunks, size_t lane,
                                 std::span<float> target) {
  const auto [id, logit] = chunks.choice(lane, shared_.sizes.vocabulary);
  std::fill(target.begin(), target.end(), kMasked);
  target[static_cast<size_t>(id)] = logit;
  greedy_token_ = id;
}

Sequence::Earliest CoreMlLlmSequence::find_earliest() const {
  return {position(), "its sliding caches have moved"};
}

// Caches of sliding layers have moved.
int64_t CoreMlLlmSequence::give_up(int64_t /*before*/) {
  forget();
  return 0;
}

void CoreMlLlmSequence::forget() {
  for (const CoreMlLlmChunk& chunk : shared_.chunks) {
    for (const auto& cache : chunk.caches) {
      const auto values = chunk.part->input(cache.input, lane_);
      std::fill(values.begin(), values.end(), 0.0F);
    }
  }
}

void CoreMlLlmSequence::copy(const Sequence& other) {
  const size_t from = static_cast<const CoreMlLlmSequence&>(other).lane_;
  for (const CoreMlLlmChunk& chunk : shared_.chunks) {
    for (const auto& cache : chunk.caches) {
      const auto source = chunk.part->input(cache.input, from);
      std::copy(source.begin(), source.end(), chunk.part->input(cache.input, lane_).begin());
    }
  }
}

}  // namespace pippin::runtime
