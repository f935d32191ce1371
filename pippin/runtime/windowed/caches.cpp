#include "pippin/runtime/windowed/caches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pippin::runtime {
namespace {

size_t elements(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

// The processor appends columns at the end of a cache, so the filled ones are the last and the
// others are zero. If another processor has filled others, the whole cache is taken.
CacheArray newest(CacheArray array, ByteSpan bytes) {
  array.by_token = false;
  if (array.rows == 1) return array;
  array.first = array.rows - array.filled;
  const uint64_t row = array.row_bytes();
  for (uint64_t group = 0; group < array.groups; ++group) {
    const auto before = bytes.subspan(group * array.rows * row, array.first * row);
    if (std::all_of(before.begin(), before.end(), [](std::byte b) { return b == std::byte{}; })) {
      continue;
    }
    array.first = 0;
    array.filled = array.rows;
  }
  return array;
}

void move(std::span<const float> from, std::span<float> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

// The arrays of one block of a chunk.
struct Block {
  std::span<float> k, v;
  std::span<const float> new_k, new_v;
};

// Runs on the worker thread: appends the window's columns to the caches, block by block.
void update(FixedPart& processor, const WindowedPorts::Processor& ports,
            const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    move(block.k, processor.input(ports.old_k));
    move(block.v, processor.input(ports.old_v));
    move(block.new_k, processor.input(ports.new_k));
    move(block.new_v, processor.input(ports.new_v));
    processor.execution().run();
    move(processor.output(ports.updated_k), block.k);
    move(processor.output(ports.updated_v), block.v);
  }
}

}  // namespace

WindowedCaches::WindowedCaches(WindowedShared& shared)
    : shared_(shared),
      place_(shared.take_lane()),
      lane_(shared.options.low_memory ? 0 : place_),
      pending_(shared.chunks.size(), 0),
      kept_(shared.chunks.size()) {
  clear();
}

WindowedCaches::~WindowedCaches() {
  shared_.worker.wait_all();
  shared_.give_back_lane(place_);
}

void WindowedCaches::wait(size_t index) const {
  if (pending_[index] != 0) shared_.worker.wait(std::exchange(pending_[index], 0));
}

std::vector<size_t> WindowedCaches::inputs(size_t index) const {
  std::vector<size_t> ports;
  for (const auto& block : shared_.ports().chunks[index].blocks) {
    ports.push_back(block.k);
    ports.push_back(block.v);
  }
  return ports;
}

FixedPart& WindowedCaches::chunk(size_t index) {
  wait(index);
  FixedPart& chunk = *shared_.chunks[index];
  if (chunk.is_ready()) return chunk;
  chunk.prepare(shared_.pool);
  const Arrays& kept = kept_[index];
  const auto ports = inputs(index);
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto cache = chunk.input(ports[i], lane_);
    if (kept.empty()) {
      std::fill(cache.begin(), cache.end(), 0.0f);
    } else {
      move(kept[i], cache);
    }
  }
  return chunk;
}

void WindowedCaches::append(size_t index) {
  FixedPart& chunk = *shared_.chunks[index];
  std::vector<Block> blocks;
  for (const auto& block : shared_.ports().chunks[index].blocks) {
    blocks.push_back({chunk.input(block.k, lane_), chunk.input(block.v, lane_),
                      chunk.output(block.new_k, lane_), chunk.output(block.new_v, lane_)});
  }
  if (blocks.empty()) return;
  pending_[index] = shared_.worker.add([&shared = shared_, blocks = std::move(blocks)] {
    update(*shared.processor, shared.ports().processor, blocks);
  });
}

void WindowedCaches::release(size_t index) {
  FixedPart& chunk = *shared_.chunks[index];
  if (pending_[index] != 0) {
    wait(index);
    kept_[index].clear();
    for (const size_t port : inputs(index)) {
      const auto cache = chunk.input(port, lane_);
      kept_[index].emplace_back(cache.begin(), cache.end());
    }
  }
  chunk.release();
}

void WindowedCaches::clear() {
  shared_.worker.wait_all();
  std::fill(pending_.begin(), pending_.end(), 0);
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    FixedPart& chunk = *shared_.chunks[i];
    kept_[i].clear();
    if (!chunk.is_ready()) continue;
    if (shared_.options.low_memory) {
      chunk.release();  // the next sequence writes its own caches to it
      continue;
    }
    for (const size_t port : inputs(i)) {
      const auto cache = chunk.input(port, lane_);
      std::fill(cache.begin(), cache.end(), 0.0f);
    }
  }
}

void WindowedCaches::copy(const WindowedCaches& other) {
  kept_ = other.kept_;
  if (shared_.options.low_memory) return;
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    other.wait(i);
    FixedPart& chunk = *shared_.chunks[i];
    for (const size_t port : inputs(i))
      move(chunk.input(port, other.lane_), chunk.input(port, lane_));
  }
}

const std::vector<int64_t>& WindowedCaches::shape(size_t cache) const {
  return cache % 2 == 0 ? shared_.schema.cache_shape : shared_.schema.v_cache_shape;
}

std::span<float> WindowedCaches::cache(size_t chunk, size_t index) {
  const auto ports = inputs(chunk);
  if (!shared_.options.low_memory) return shared_.chunks[chunk]->input(ports[index], lane_);
  if (kept_[chunk].empty()) {
    for (size_t k = 0; k < ports.size(); ++k) kept_[chunk].emplace_back(elements(shape(k)));
  }
  return kept_[chunk][index];
}

std::vector<CacheArray> WindowedCaches::arrays(int64_t count) {
  const WindowedSchema& schema = shared_.schema;
  const int64_t length = schema.context - schema.window;
  const int64_t filled = std::min(count / schema.window * schema.window, length);
  std::vector<CacheArray> result;
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    wait(i);
    for (size_t k = 0; k < inputs(i).size(); ++k) {
      const ByteSpan bytes = std::as_bytes(cache(i, k));
      result.push_back(newest(cache_array(fmt::format("chunk {} cache {}", i + 1, k), bytes.size(),
                                          shape(k), length, filled),
                              bytes));
    }
  }
  return result;
}

MutableByteSpan WindowedCaches::bytes(size_t index) {
  size_t chunk = 0;
  for (; index >= inputs(chunk).size(); ++chunk) index -= inputs(chunk).size();
  wait(chunk);
  return std::as_writable_bytes(cache(chunk, index));
}

}  // namespace pippin::runtime
