#include "pippin/generate/windowed_caches.h"

#include <algorithm>
#include <utility>

namespace pippin::generate {
namespace {

void move(std::span<const float> from, std::span<float> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

// A block's arrays in a chunk.
struct Block {
  std::span<float> k, v;
  std::span<const float> new_k, new_v;
};

// On the worker's thread: appends the window's columns to the caches, block by block.
void update(WindowedPart& processor, const WindowedPorts::Processor& ports,
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
      place_(shared.take_seat()),
      seat_(shared.options.low_memory ? 0 : place_),
      pending_(shared.chunks.size(), 0),
      kept_(shared.chunks.size()) {
  clear();
}

WindowedCaches::~WindowedCaches() {
  shared_.worker.wait_all();
  shared_.give_back_seat(place_);
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

WindowedPart& WindowedCaches::chunk(size_t index) {
  wait(index);
  WindowedPart& chunk = *shared_.chunks[index];
  if (chunk.is_ready()) return chunk;
  chunk.prepare(shared_.pool);
  const Arrays& kept = kept_[index];
  const auto ports = inputs(index);
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto cache = chunk.input(ports[i], seat_);
    if (kept.empty()) {
      std::fill(cache.begin(), cache.end(), 0.0f);
    } else {
      move(kept[i], cache);
    }
  }
  return chunk;
}

void WindowedCaches::append(size_t index) {
  WindowedPart& chunk = *shared_.chunks[index];
  std::vector<Block> blocks;
  for (const auto& block : shared_.ports().chunks[index].blocks) {
    blocks.push_back({chunk.input(block.k, seat_), chunk.input(block.v, seat_),
                      chunk.output(block.new_k, seat_), chunk.output(block.new_v, seat_)});
  }
  if (blocks.empty()) return;
  pending_[index] = shared_.worker.add([&shared = shared_, blocks = std::move(blocks)] {
    update(*shared.processor, shared.ports().processor, blocks);
  });
}

void WindowedCaches::release(size_t index) {
  WindowedPart& chunk = *shared_.chunks[index];
  if (pending_[index] != 0) {
    wait(index);
    kept_[index].clear();
    for (const size_t port : inputs(index)) {
      const auto cache = chunk.input(port, seat_);
      kept_[index].emplace_back(cache.begin(), cache.end());
    }
  }
  chunk.release();
}

void WindowedCaches::clear() {
  shared_.worker.wait_all();
  std::fill(pending_.begin(), pending_.end(), 0);
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    WindowedPart& chunk = *shared_.chunks[i];
    kept_[i].clear();
    if (!chunk.is_ready()) continue;
    if (shared_.options.low_memory) {
      chunk.release();  // whoever is next puts its own caches in
      continue;
    }
    for (const size_t port : inputs(i)) {
      const auto cache = chunk.input(port, seat_);
      std::fill(cache.begin(), cache.end(), 0.0f);
    }
  }
}

void WindowedCaches::copy(const WindowedCaches& other) {
  kept_ = other.kept_;
  if (shared_.options.low_memory) return;
  for (size_t i = 0; i < shared_.chunks.size(); ++i) {
    other.wait(i);
    WindowedPart& chunk = *shared_.chunks[i];
    for (const size_t port : inputs(i))
      move(chunk.input(port, other.seat_), chunk.input(port, seat_));
  }
}

}  // namespace pippin::generate
