#include "pippin/runtime/coreml_llm/sequence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/coreml_llm.h"

namespace pippin::runtime {

namespace coreml_llm = families::coreml_llm;

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
  for (int64_t i = feeding.begin; i < total; ++i) {
    check_cancel();
    run_token(fed()[static_cast<size_t>(i)], i);
    const bool is_wanted =
        feeding.rows == Rows::Every || (feeding.rows != Rows::None && i + 1 == total);
    if (is_wanted) take_row(next_row(feeding));
  }
}

void CoreMlLlmSequence::run_token(int32_t id, int64_t position) {
  for (CoreMlLlmChunk& chunk : shared_.chunks) {
    FixedPart& part = *chunk.part;
    for (const auto& given : chunk.given) {
      fill(given.kind, id, position, part.input(given.input, lane_));
    }
    for (const auto& route : chunk.routes) {
      const auto source = shared_.chunks[route.chunk].part->output(route.output, lane_);
      std::copy(source.begin(), source.end(), part.input(route.input, lane_).begin());
    }
    part.execution().run(lane_);
    for (const auto& cache : chunk.caches) {
      const auto next = part.output(cache.output, lane_);
      std::copy(next.begin(), next.end(), part.input(cache.input, lane_).begin());
    }
  }
}

void CoreMlLlmSequence::fill(CoreMlLlmInput kind, int32_t id, int64_t position,
                             std::span<float> target) const {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
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

void CoreMlLlmSequence::take_row(std::span<float> target) {
  FixedPart& last = *shared_.chunks.back().part;
  const int32_t id = last.execution().int_output(shared_.token, lane_)[0];
  if (id < 0 || id >= shared_.sizes.vocabulary) {
    fail(ErrorCode::InvalidFile, "{}: chose token {} of {}", last.name(), id,
         shared_.sizes.vocabulary);
  }
  std::fill(target.begin(), target.end(), -std::numeric_limits<float>::infinity());
  target[static_cast<size_t>(id)] = shared_.logit ? last.output(*shared_.logit, lane_)[0] : 0;
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
  for (CoreMlLlmChunk& chunk : shared_.chunks) {
    for (const auto& cache : chunk.caches) {
      const auto values = chunk.part->input(cache.input, lane_);
      std::fill(values.begin(), values.end(), 0.0F);
    }
  }
}

void CoreMlLlmSequence::copy(const Sequence& other) {
  const size_t from = static_cast<const CoreMlLlmSequence&>(other).lane_;
  for (CoreMlLlmChunk& chunk : shared_.chunks) {
    for (const auto& cache : chunk.caches) {
      const auto source = chunk.part->input(cache.input, from);
      std::copy(source.begin(), source.end(), chunk.part->input(cache.input, lane_).begin());
    }
  }
}

}  // namespace pippin::runtime
