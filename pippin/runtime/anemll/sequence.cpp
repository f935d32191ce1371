#include "pippin/runtime/anemll/sequence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin::runtime {
namespace {

constexpr int64_t kMostIds = 256;  // per run of the embeddings

// Whether the chunk returns logits or the most likely token, which it does in a model without head.
bool gives_rows(const AnemllShared& shared, size_t chunk) {
  return !shared.parts.head && chunk + 1 == shared.parts.chunks.size();
}

StepRunner& runner_of(AnemllShared& shared, size_t chunk, int64_t count, bool rotated) {
  Part& part = *shared.parts.chunks[chunk];
  if (!rotated) return part.batch(count);
  Part* const other = shared.parts.rotated.empty() ? nullptr : shared.parts.rotated[chunk].get();
  if (other == nullptr) return part.batch_rotated(count);
  return other->steps().one_rotated ? other->batch_rotated(count) : other->batch(count);
}

void release_chunk(AnemllShared& shared, size_t index) {
  const AnemllParts& parts = shared.parts;
  parts.chunks[index]->release();
  if (!parts.rotated.empty() && parts.rotated[index]) parts.rotated[index]->release();
}

// A row of shared.hidden.
std::span<float> hidden_row(AnemllShared& shared, size_t row) {
  const auto width = static_cast<size_t>(shared.width);
  return std::span(shared.hidden).subspan(row * width, width);
}

void keep_hidden(AnemllShared& shared, const StepRunner& runner, size_t lane, size_t row) {
  std::copy_n(runner.hidden(lane).begin(), shared.width, hidden_row(shared, row).begin());
}

}  // namespace

AnemllSequence::AnemllSequence(std::shared_ptr<Model> model, AnemllShared& shared)
    : Sequence(std::move(model)),
      shared_(shared),
      state_(shared.spare_states.take(shared.parts.states.features(), shared.options.compute)) {}

AnemllSequence::~AnemllSequence() {
  shared_.spare_states.keep(std::move(state_));
}

// Only the rows of the tokens: others would touch the memory of the whole context.
void AnemllSequence::copy(const Sequence& other) {
  const auto& source = static_cast<const AnemllSequence&>(other);
  const auto caches = arrays(source.position());
  for (size_t i = 0; i < caches.size(); ++i) {
    state_.copy_rows(i, caches[i].filled_rows(), source.state_);
  }
}

// Rows are in the order of the tokens unless the sliding window has rotated.
std::vector<CacheArray> AnemllSequence::arrays(int64_t count) {
  const int64_t slots = shared_.parts.chunks.front()->steps().one->end.largest();
  const bool in_order = shared_.window == 0 || count <= shared_.window;
  std::vector<CacheArray> result;
  for (const mil::Feature& state : state_.features()) {
    result.push_back(cache_array(state.name, engine::state_bytes(state), state.shape,
                                 in_order ? slots : 0, count));
    if (shared_.window > 0) result.back().by_token = false;
  }
  return result;
}

Sequence::Earliest AnemllSequence::find_earliest() const {
  if (shared_.window == 0 || position() <= shared_.window) return {};
  return {position(), "its sliding window has overwritten earlier tokens"};
}

int64_t AnemllSequence::find_droppable() const {
  if (shared_.window == 0) return Sequence::find_droppable();
  return std::max<int64_t>(shared_.window - position(), 0);
}

// Slots that were written can be overwritten; a rotated cache cannot be rewound.
int64_t AnemllSequence::give_up(int64_t before) {
  if (shared_.window == 0 || std::ssize(fed()) <= shared_.window) return before;
  forget();
  return 0;
}

std::vector<HiddenStates> AnemllSequence::parts() const {
  std::vector<HiddenStates> result;
  if (!shared_.parts.embeddings) return result;
  for (const auto& chunk : shared_.parts.chunks)
    result.push_back({chunk->name(), shared_.width, {}});
  return result;
}

std::vector<AnemllSequence::Segment> AnemllSequence::segments(int64_t count) const {
  std::vector<Segment> result;
  for (int64_t i = 0; i < count;) {
    const int64_t place = position() + i;
    Segment segment;
    segment.first = i;
    segment.rotated = shared_.window > 0 && place >= shared_.window;
    // The last token needs a run of its own.
    int64_t left = count - 1 - i;
    if (shared_.window > 0 && !segment.rotated) left = std::min(left, shared_.window - place);
    const bool allowed = shared_.batch > 1 && (!segment.rotated || shared_.rotated_batches);
    const int64_t size = allowed ? shared_.batch_sizes.at_most(std::min(left, shared_.batch)) : 1;
    segment.count = std::max<int64_t>(size, 1);
    result.push_back(segment);
    i += segment.count;
  }
  return result;
}

// Runs each part over all tokens before the next one, so that each part is loaded once, or piece
// after piece if all parts stay loaded.
void AnemllSequence::feed(const Feeding& feeding) {
  const auto ids = std::span(fed()).subspan(static_cast<size_t>(feeding.begin));
  std::span<const float> hidden = embed(ids);
  const auto runs = segments(std::ssize(ids));
  if (runs.size() > 1 && shared_.parts.chunks.size() > 1 && !shared_.options.low_memory &&
      !feeding.wants_every()) {
    run_in_waves(runs, feeding);
    if (shared_.parts.head && feeding.rows != Rows::None) run_head(shared_.hidden, feeding);
    return;
  }
  std::vector<Segment> singles;
  if (feeding.wants_every()) {
    for (const Segment& segment : runs) {
      for (int64_t i = 0; i < segment.count; ++i) {
        singles.push_back({segment.first + i, 1, segment.rotated});
      }
    }
  }
  for (size_t i = 0; i < shared_.parts.chunks.size(); ++i) {
    // If every token's row is wanted, the last part runs token by token: its batches return no
    // rows.
    const bool single = i + 1 == shared_.parts.chunks.size() && feeding.wants_every();
    hidden = run_chunk({i, single ? singles : runs, ids, hidden}, feeding);
    if (feeding.trace != nullptr) (*feeding.trace)[i].rows.assign(hidden.begin(), hidden.end());
  }
  if (shared_.parts.head && feeding.rows != Rows::None) run_head(hidden, feeding);
}

// The hidden states of all tokens, valid until the embeddings or shared_.hidden are used again.
std::span<const float> AnemllSequence::embed(std::span<const int32_t> ids) {
  if (!shared_.parts.embeddings) return {};
  Part& part = *shared_.parts.embeddings;
  if (ids.size() == 1 && !shared_.options.low_memory && part.steps().one) {
    part.one().run_ids(ids, 0, state_);
    return part.one().hidden();
  }
  shared_.hidden.resize(ids.size() * static_cast<size_t>(shared_.width));
  const auto& steps = part.steps();
  for (size_t i = 0; i < ids.size();) {
    check_cancel();
    size_t size = 1, real = 1;
    const size_t left = ids.size() - i;
    if (steps.batch) {
      size = static_cast<size_t>(
          steps.batch->query.at_most(std::min(static_cast<int64_t>(left), kMostIds)));
      if (size < 2 && !steps.one) size = static_cast<size_t>(steps.batch->query.smallest());
      real = std::min(std::max<size_t>(size, 1), left);
      size = std::max<size_t>(size, 1);
    }
    shared_.padded.assign(ids.begin() + static_cast<int64_t>(i),
                          ids.begin() + static_cast<int64_t>(i + real));
    shared_.padded.resize(size, 0);
    StepRunner& runner = part.batch(static_cast<int64_t>(size));
    runner.run_ids(shared_.padded, 0, state_);
    std::copy_n(runner.hidden().begin(), static_cast<int64_t>(real) * shared_.width,
                shared_.hidden.begin() + static_cast<int64_t>(i) * shared_.width);
    i += real;
  }
  part.release();
  return shared_.hidden;
}

void AnemllSequence::run_in_waves(std::span<const Segment> runs, const Feeding& feeding) {
  const size_t chunks = shared_.parts.chunks.size();
  const auto width = static_cast<size_t>(shared_.width);
  const auto rows_of = [&](const Segment& segment) {
    return std::span(shared_.hidden)
        .subspan(static_cast<size_t>(segment.first) * width,
                 static_cast<size_t>(segment.count) * width);
  };
  for (size_t wave = 0; wave + 1 < runs.size() + chunks; ++wave) {
    check_cancel();
    const auto has_piece = [&](size_t chunk) {
      return wave >= chunk && wave - chunk < runs.size();
    };
    // The last chunk first: a run on this machine would delay the start of those on others.
    for (size_t i = chunks; i-- > 0;) {
      if (!has_piece(i)) continue;
      const Segment& segment = runs[wave - i];
      runner_of(shared_, i, segment.count, segment.rotated)
          .run_hidden(rows_of(segment), position() + segment.first, state_);
    }
    for (size_t i = 0; i < chunks; ++i) {
      if (!has_piece(i)) continue;
      const Segment& segment = runs[wave - i];
      StepRunner& runner = runner_of(shared_, i, segment.count, segment.rotated);
      const bool is_last = wave - i + 1 == runs.size();
      if (gives_rows(shared_, i)) {
        if (feeding.rows == Rows::Last && is_last) take_row(runner, next_row(feeding));
        continue;
      }
      // A prefill of the last chunk returns one row, which is unused.
      if (i + 1 == chunks && !is_last) continue;
      const auto rows = runner.hidden();
      std::copy_n(rows.begin(), std::min(rows.size(), rows_of(segment).size()),
                  rows_of(segment).begin());
    }
  }
}

std::span<const float> AnemllSequence::run_chunk(const Chunk& chunk, const Feeding& feeding) {
  const auto width = static_cast<size_t>(shared_.width);
  const bool has_rows = gives_rows(shared_, chunk.index);
  const bool is_alone = chunk.runs.size() == 1 && !shared_.options.low_memory;
  std::span<const float> result;
  if (!is_alone) shared_.hidden.resize(chunk.ids.size() * width);
  for (const Segment& segment : chunk.runs) {
    check_cancel();
    StepRunner& runner = runner_of(shared_, chunk.index, segment.count, segment.rotated);
    const auto first = static_cast<size_t>(segment.first);
    const auto count = static_cast<size_t>(segment.count);
    const int64_t place = position() + segment.first;
    if (width == 0) {
      runner.run_ids(chunk.ids.subspan(first, count), place, state_);
    } else {
      runner.run_hidden(chunk.hidden.subspan(first * width, count * width), place, state_);
    }
    const bool is_last = segment.first + segment.count == std::ssize(chunk.ids);
    if (has_rows) {
      const bool is_wanted = feeding.rows == Rows::Every || (feeding.rows == Rows::Last && is_last);
      if (is_wanted) take_row(runner, next_row(feeding));
      continue;
    }
    result = runner.hidden();
    if (is_alone) continue;
    // Overwrites the rows of the chunk's input. A prefill of the last chunk returns one row, which
    // is unused.
    const size_t size = std::min(count * width, result.size());
    std::copy_n(result.begin(), size, shared_.hidden.data() + first * width);
    result = shared_.hidden;
  }
  release_chunk(shared_, chunk.index);
  return result;
}

void AnemllSequence::run_head(std::span<const float> hidden, const Feeding& feeding) {
  const auto width = static_cast<size_t>(shared_.width);
  const size_t count = hidden.size() / width;
  for (size_t row = feeding.rows == Rows::Every ? 0 : count - 1; row < count; ++row) {
    check_cancel();
    StepRunner& runner = shared_.parts.head->one();
    runner.run_hidden(hidden.subspan(row * width, width), 0, state_);
    take_row(runner, next_row(feeding));
  }
  shared_.parts.head->release();
}

void AnemllSequence::take_row(const StepRunner& runner, std::span<float> row, size_t lane) {
  if (shared_.greedy_only) {
    greedy_token_ = shared_.argmax.take(runner, 0, row, lane);
    return;
  }
  runner.copy_logits(runner.logit_rows(lane) - 1, row.data(), lane);
}

void AnemllSequence::feed_together(AnemllShared& shared, std::span<Sequence* const> sequences) {
  embed_together(shared, sequences);
  for (size_t i = 0; i < shared.parts.chunks.size(); ++i) chunk_together(shared, i, sequences);
  if (shared.parts.head) head_together(shared, sequences);
}

// Writes one row of shared.hidden per sequence.
void AnemllSequence::embed_together(AnemllShared& shared, std::span<Sequence* const> sequences) {
  if (!shared.parts.embeddings) return;
  Part& part = *shared.parts.embeddings;
  if (!part.steps().one) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < sequences.size(); ++i) ids.push_back(at(sequences, i).fed().back());
    at(sequences, 0).embed(ids);  // any sequence can embed all ids: rows are independent
    return;
  }
  shared.hidden.resize(sequences.size() * static_cast<size_t>(shared.width));
  StepRunner& runner = part.one();
  runner.reserve_lanes(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    AnemllSequence& one = at(sequences, i);
    runner.put_ids({&one.fed().back(), 1}, 0, 1, one.state_, i);
  }
  check_cancel();
  runner.run_together(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) keep_hidden(shared, runner, i, i);
  part.release();
}

// Sequences past the window run other functions than the rest.
void AnemllSequence::chunk_together(AnemllShared& shared, size_t index,
                                    std::span<Sequence* const> sequences) {
  for (const bool rotated : {false, true}) {
    std::vector<size_t> mine;  // indices of sequences
    for (size_t i = 0; i < sequences.size(); ++i) {
      const bool past = shared.window > 0 && sequences[i]->position() >= shared.window;
      if (past == rotated) mine.push_back(i);
    }
    if (mine.empty()) continue;
    StepRunner& runner = runner_of(shared, index, 1, rotated);
    runner.reserve_lanes(mine.size());
    for (size_t lane = 0; lane < mine.size(); ++lane) {
      AnemllSequence& one = at(sequences, mine[lane]);
      if (shared.width == 0) {
        runner.put_ids({&one.fed().back(), 1}, one.position(), 1, one.state_, lane);
      } else {
        runner.put_hidden(hidden_row(shared, mine[lane]), one.position(), one.state_, lane);
      }
    }
    check_cancel();
    runner.run_together(mine.size());
    for (size_t lane = 0; lane < mine.size(); ++lane) {
      AnemllSequence& one = at(sequences, mine[lane]);
      if (gives_rows(shared, index)) {
        one.take_row(runner, one.next_row(), lane);
      } else {
        keep_hidden(shared, runner, lane, mine[lane]);
      }
    }
  }
  release_chunk(shared, index);
}

void AnemllSequence::head_together(AnemllShared& shared, std::span<Sequence* const> sequences) {
  StepRunner& runner = shared.parts.head->one();
  runner.reserve_lanes(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    runner.put_hidden(hidden_row(shared, i), 0, at(sequences, i).state_, i);
  }
  check_cancel();
  runner.run_together(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    AnemllSequence& one = at(sequences, i);
    one.take_row(runner, one.next_row(), i);
  }
  shared.parts.head->release();
}

}  // namespace pippin::runtime
