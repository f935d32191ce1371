#include "pippin/runtime/windowed/sequence.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::runtime {

WindowedSequence::WindowedSequence(std::shared_ptr<Model> model, WindowedShared& shared)
    : Sequence(std::move(model)),
      shared_(shared),
      caches_(std::make_unique<WindowedCaches>(shared)),
      kept_(shared.ports().kept) {}

WindowedSequence::~WindowedSequence() {
  const auto lock = lock_model();
  caches_.reset();
}

void WindowedSequence::check_room(int64_t added) const {
  Sequence::check_room(added);
  const int64_t total = position() + added, known = shared_.positions;
  if (known > 0 && total > known) {
    fail(ErrorCode::LimitExceeded, "the sequence would have {} tokens, the model's tables have {}",
         total, known);
  }
}

std::vector<HiddenStates> WindowedSequence::parts() const {
  std::vector<HiddenStates> result;
  for (size_t i = 0; i + 1 < shared_.chunks.size(); ++i) {
    result.push_back({shared_.chunks[i]->name(), shared_.schema.width, {}});
  }
  return result;
}

// The caches of some chunks may be a window ahead and cannot go back.
int64_t WindowedSequence::give_up(int64_t /*before*/) {
  forget();
  return 0;
}

void WindowedSequence::forget() {
  caches_->clear();
  result_row_ = -1;
}

Sequence::Earliest WindowedSequence::find_earliest() const {
  const int64_t window = shared_.schema.window;
  return {position() / window * window, "the windows before are in the cache as a whole"};
}

// Tokens can be dropped up to the end of the window.
int64_t WindowedSequence::find_droppable() const {
  const int64_t window = shared_.schema.window;
  return window - 1 - position() % window;
}

void WindowedSequence::copy(const Sequence& other) {
  caches_->copy(*static_cast<const WindowedSequence&>(other).caches_);
}

// The tokens [first, end) that fit in the window of the first one.
WindowedSequence::Window WindowedSequence::window_of(int64_t first, int64_t end) const {
  const int64_t size = shared_.schema.window;
  const int64_t begin = first / size * size;
  return {begin, first, std::min(begin + size, end)};
}

void WindowedSequence::feed(const Feeding& feeding) {
  const auto total = std::ssize(fed());
  for (int64_t done = feeding.begin; done < total;) {
    check_cancel();
    const Window window = window_of(done, total);
    run_window(window, feeding);
    done = window.end;
  }
  if (shared_.options.low_memory) caches_->release(shared_.chunks.size() - 1);
}

void WindowedSequence::run_window(const Window& window, const Feeding& feeding) {
  const size_t last = shared_.chunks.size() - 1;
  const bool is_end = window.end == std::ssize(fed());
  const bool wants_rows = feeding.rows == Rows::Every || (feeding.rows == Rows::Last && is_end);
  const bool has_caches = !shared_.ports().chunks[last].blocks.empty();
  const int64_t first_row = (feeding.wants_every() ? window.first : window.end - 1) - window.begin;
  const engine::WantedRows wanted = {first_row, window.rows()};
  result_row_ = -1;
  for (size_t i = 0; i <= (wants_rows || has_caches ? last : last - 1); ++i) {
    check_cancel();
    FixedPart& chunk = fill_chunk(i, window);
    // If the chunk computes only logits, only the wanted rows are computed.
    const bool is_head = i == last && !has_caches;
    chunk.execution().run(caches_->lane(), is_head ? std::optional(wanted) : std::nullopt);
    if (shared_.options.low_memory) keep_outputs(i);
    if (feeding.trace != nullptr && i < last) take_hidden(i, window, (*feeding.trace)[i]);
    if (is_full(window)) caches_->append(i);
    if (shared_.options.low_memory && i < last) caches_->release(i);
  }
  if (!wants_rows) return;
  result_row_ = window.rows() - 1;
  for (int64_t row = wanted.begin; row < wanted.end; ++row) take_row(row, next_row(feeding));
}

void WindowedSequence::feed_together(WindowedShared& shared, std::span<Sequence* const> sequences) {
  const auto each = [&](auto&& body) {
    for (Sequence* const sequence : sequences) {
      auto& one = static_cast<WindowedSequence&>(*sequence);
      body(one, one.window_of(one.position(), one.position() + 1));
    }
  };
  std::vector<size_t> lanes;
  each([&](WindowedSequence& one, const Window&) {
    lanes.push_back(one.caches_->lane());
    one.result_row_ = -1;
  });
  for (size_t i = 0; i < shared.chunks.size(); ++i) {
    check_cancel();
    each([&](WindowedSequence& one, const Window& window) { one.fill_chunk(i, window); });
    shared.chunks[i]->execution().run_together(lanes);
    each([&](WindowedSequence& one, const Window& window) {
      if (one.is_full(window)) one.caches_->append(i);
    });
  }
  each([&](WindowedSequence& one, const Window& window) {
    one.result_row_ = window.rows() - 1;
    one.take_row(one.result_row_, one.next_row());
  });
}

// Returns the chunk with its inputs filled.
FixedPart& WindowedSequence::fill_chunk(size_t index, const Window& window) {
  FixedPart& chunk = caches_->chunk(index);
  if (index == 0) {
    fill_first(chunk, window);
  } else {
    for (const auto& route : shared_.ports().chunks[index].routes) fill_from(chunk, route);
  }
  return chunk;
}

void WindowedSequence::fill_first(FixedPart& chunk, const Window& window) {
  const auto ids = chunk.execution().int_input(shared_.ports().ids, caches_->lane());
  std::copy(fed().begin() + window.begin, fed().begin() + window.end, ids.begin());
  std::fill(ids.begin() + window.rows(), ids.end(), 0);
  // The length includes padding, so that positions are correct.
  const int64_t padded = window.begin + shared_.schema.window;
  chunk.execution().int_input(shared_.ports().length, caches_->lane())[0] =
      static_cast<int32_t>(padded);
}

void WindowedSequence::fill_from(FixedPart& chunk, const WindowedPorts::Route& route) {
  const auto target = chunk.input(route.input, caches_->lane());
  const std::span<const float> source =
      shared_.options.low_memory
          ? std::span<const float>(kept_[route.kept])
          : shared_.chunks[route.chunk]->output(route.output, caches_->lane());
  if (source.size() != target.size()) {
    fail(ErrorCode::InvalidFile, "'{}' takes {} elements in '{}', '{}' gives {}",
         chunk.execution().plan().inputs()[route.input].name, target.size(), chunk.name(),
         shared_.chunks[route.chunk]->name(), source.size());
  }
  std::copy(source.begin(), source.end(), target.begin());
}

// With --low-memory: keeps the outputs that later chunks take, since the chunk is unloaded.
void WindowedSequence::keep_outputs(size_t index) {
  for (const auto& later : shared_.ports().chunks) {
    for (const auto& route : later.routes) {
      if (route.chunk != index) continue;
      const auto values = shared_.chunks[index]->output(route.output, caches_->lane());
      kept_[route.kept].assign(values.begin(), values.end());
    }
  }
}

void WindowedSequence::take_row(int64_t row, std::span<float> target) const {
  auto place = target.begin();
  for (size_t i = 0; i < shared_.part_sizes.size(); ++i) {
    const auto size = static_cast<size_t>(shared_.part_sizes[i]);
    const auto values = shared_.chunks.back()->execution().float_output(
        shared_.ports().logits[i], static_cast<size_t>(row) * size, size, caches_->lane());
    place = std::copy(values.begin(), values.end(), place);
  }
}

// x is (1, width, 1, window), or has the window as a square: one column per token.
void WindowedSequence::take_hidden(size_t index, const Window& window, HiddenStates& target) const {
  const auto port = shared_.ports().chunks[index].hidden;
  if (!port) return;
  const auto x = shared_.chunks[index]->output(*port, caches_->lane());
  for (int64_t row = window.first - window.begin; row < window.rows(); ++row) {
    for (int64_t c = 0; c < shared_.schema.width; ++c) {
      target.rows.push_back(x[static_cast<size_t>(c * shared_.schema.window + row)]);
    }
  }
}

std::optional<int32_t> WindowedSequence::find_greedy_token() {
  if (!shared_.logit_processor || result_row_ < 0 || shared_.options.low_memory) {
    return std::nullopt;
  }
  FixedPart& processor = *shared_.logit_processor;
  for (size_t i = 0; i < shared_.logit_inputs.size(); ++i) {
    const auto values = shared_.chunks.back()->output(shared_.ports().logits[i], caches_->lane());
    std::copy(values.begin(), values.end(), processor.input(shared_.logit_inputs[i]).begin());
  }
  processor.execution().run();
  const auto ids = processor.execution().int_output(shared_.argmax);
  const int32_t id = ids[static_cast<size_t>(result_row_) % ids.size()];
  if (id < 0 || id >= shared_.vocab_size) {
    fail(ErrorCode::InvalidFile, "{}: chose token {} of {}", processor.name(), id,
         shared_.vocab_size);
  }
  return id;
}

}  // namespace pippin::runtime
